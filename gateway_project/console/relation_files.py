"""Pages that import relations from files and export them."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from gateway_project.console.audited_admin import caller_of
from gateway_project.use_cases.import_graph import import_graph
from graph import export
from graph.exchange.read import GraphFormat
from graph.import_file import ImportedRelations, ImportRefused
from tools import generic_django  # noqa: F401 - for the subscripts below

MAX_FILE_BYTES: Final = 20_000_000
MAX_FORM_CHARS: Final = 2_000_000
"""Characters that the confirmation page carries; Django accepts 2.5 MB."""
MAX_SHOWN_CHANGES: Final = 200
"""Changes that the preview lists; the others are counted."""
MAX_PREVIEW_AGE_S: Final = 3_600
ROUTE_PATTERN: Final = "admin:graph_tooldependency_{}"
FILE_TOO_LARGE = f"The file is larger than {MAX_FILE_BYTES // 1_000_000} MB; split it."
PREVIEW_EXPIRED = "The preview is more than an hour old; choose the file again."
EXPORT_FORMATS: Final[Mapping[str, tuple[str, str]]] = {
    "json": ("application/json", "foregate-graph.json"),
    "graphml": ("application/graphml+xml", "foregate-graph.graphml"),
}


class RelationImportForm(forms.Form):
    """The file to import and how to treat its claims."""

    file = forms.FileField(
        help_text="JSON, JSON Lines or GraphML, recognised by file extension or content.",
        allow_empty_file=True,
    )
    as_curated = forms.BooleanField(
        required=False,
        label="I vouch for it",
        help_text="What it states as curated, or without a source, counts as vouched for by "
        "you, and so do its rejections. Otherwise it counts as imported, and what "
        "runs show outweighs it in time.",
    )
    skip_unknown = forms.BooleanField(
        required=False,
        label="Leave out unknown tools",
        help_text="Relations of unknown tools are left out. Otherwise they make the whole file "
        "refused.",
    )

    def clean_file(self) -> UploadedFile[Any]:
        """Reject a file that is too large for memory."""
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > MAX_FILE_BYTES:
            raise forms.ValidationError(FILE_TOO_LARGE)
        return file


class RelationFilesAdmin(admin.ModelAdmin[Any]):
    """Adds import and export pages to the admin of relations."""

    def get_urls(self) -> list[URLPattern]:
        """Add the routes of import and export."""
        view, name = self.admin_site.admin_view, "graph_tooldependency_{}".format
        return [
            path("import/", view(self.import_view), name=name("import")),
            path("export/<str:form>/", view(self.export_view), name=name("export")),
            *super().get_urls(),
        ]

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Preview the changes of a file, and apply them once a person confirms."""
        if not (self.has_add_permission(request) and self.has_change_permission(request)):
            raise PermissionDenied
        if "content" in request.POST:
            return self._apply_import(request)
        if request.method != "POST":
            return self._render_page(request, form=RelationImportForm())
        form = RelationImportForm(request.POST, request.FILES)
        return (
            self._preview_import(request, form)
            if form.is_valid()
            else self._render_page(request, form=form)
        )

    def export_view(self, request: HttpRequest, form: str) -> HttpResponse:
        """Send all shared relations as a file."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if form not in EXPORT_FORMATS:
            raise Http404("relations are exported as json or graphml")
        content_type, filename = EXPORT_FORMATS[form]
        headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
        content = export.write_text(export.build_document(), GraphFormat(form))
        return HttpResponse(content, content_type=content_type, headers=headers)

    def _preview_import(self, request: HttpRequest, form: RelationImportForm) -> HttpResponse:
        file = form.cleaned_data["file"]
        data, options = file.read(), _select_options(form.cleaned_data)
        try:
            imported = _import_relations(
                request, data, filename=file.name, dry_run=True, **options
            )
        except ImportRefused as error:
            return self._render_page(request, form=form, refused=error, filename=file.name)
        signed = _sign_upload(data, filename=file.name, **options)
        return self._render_page(
            request,
            form=form,
            preview=imported,
            shown=imported.changes[:MAX_SHOWN_CHANGES],
            more=max(0, len(imported.changes) - MAX_SHOWN_CHANGES),
            content=signed if len(signed) <= MAX_FORM_CHARS else "",
        )

    def _apply_import(self, request: HttpRequest) -> HttpResponse:
        try:
            data, options = _open_upload(request.POST["content"])
        except signing.BadSignature:
            messages.error(request, PREVIEW_EXPIRED)
            return redirect(ROUTE_PATTERN.format("import"))
        try:
            imported = _import_relations(request, data, **options)
        except ImportRefused as error:
            return self._render_page(
                request, form=RelationImportForm(), refused=error, filename=options["filename"]
            )
        # Django capitalizes the first letter of a message, so it must not begin with a file name.
        text = (
            f"Imported {imported.filename}: {imported.added:,} new, {imported.changed:,} changed."
        )
        messages.success(request, text)
        for warning in imported.warnings:
            messages.warning(request, warning)
        return redirect(ROUTE_PATTERN.format("changelist"))

    def _render_page(self, request: HttpRequest, **context: Any) -> HttpResponse:
        page = {**self.admin_site.each_context(request), "opts": self.opts}
        page |= {"title": "Import relations", **context}
        return TemplateResponse(request, "admin/graph/tooldependency/import.html", page)


def _select_options(data: Mapping[str, Any]) -> dict[str, bool]:
    return {name: data[name] for name in ("as_curated", "skip_unknown")}


def _import_relations(request: HttpRequest, data: bytes, **options: Any) -> ImportedRelations:
    caller = caller_of(request)
    origin = caller.user if options["as_curated"] else ""
    return import_graph(caller, data, origin=origin, now=timezone.now(), **options)


def _sign_upload(data: bytes, **options: Any) -> str:
    """Pack a file into signed text, so that exactly the previewed file is applied."""
    text = base64.b64encode(zlib.compress(data)).decode("ascii")
    return signing.dumps([text, options], salt=__name__)


def _open_upload(content: str) -> tuple[bytes, dict[str, Any]]:
    text, options = signing.loads(content, salt=__name__, max_age=MAX_PREVIEW_AGE_S)
    return zlib.decompress(base64.b64decode(text)), options
