"""Pages by which relations come from files and go into files."""

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

from gateway_project.console.audited import caller_of
from gateway_project.use_cases.import_graph import import_graph
from graph import export
from graph.exchange.read import Form
from graph.import_file import Imported, ImportRefused
from tools import generic_django  # noqa: F401 - for the subscripts below

MAX_BYTES: Final = 20_000_000
MAX_CARRIED: Final = 2_000_000
"""Characters that the page which asks for confirmation carries; Django takes 2.5 MB."""
MAX_SHOWN: Final = 200
"""Changes that the preview lists; the rest is counted."""
MAX_AGE_S: Final = 3_600
ROUTES: Final = "admin:graph_tooldependency_{}"
TOO_LARGE = f"The file is larger than {MAX_BYTES // 1_000_000} MB; split it."
EXPIRED = "The preview is more than an hour old; choose the file again."
FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "json": ("application/json", "foregate-graph.json"),
    "graphml": ("application/graphml+xml", "foregate-graph.graphml"),
}


class ImportForm(forms.Form):
    """Which file, and how far it is believed."""

    file = forms.FileField(
        help_text="JSON, JSON Lines or GraphML; the name's ending or the content tells which.",
        allow_empty_file=True,
    )
    as_curated = forms.BooleanField(
        required=False,
        label="I vouch for it",
        help_text="What it gives as curated, or without a source, counts as your word, and so "
        "does what it rejects. Otherwise it counts as imported, and what runs show outweighs it "
        "in time.",
    )
    skip_unknown = forms.BooleanField(
        required=False,
        label="Leave out unknown tools",
        help_text="Relations of tools that are not here are left out. Otherwise the whole file is "
        "refused for them.",
    )

    def clean_file(self) -> UploadedFile[Any]:
        """Refuse what would fill the memory."""
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > MAX_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return file


class RelationFiles(admin.ModelAdmin[Any]):
    """Adds the pages to those of relations."""

    def get_urls(self) -> list[URLPattern]:
        """Add import and export."""
        view, name = self.admin_site.admin_view, "graph_tooldependency_{}".format
        return [
            path("import/", view(self.import_view), name=name("import")),
            path("export/<str:form>/", view(self.export_view), name=name("export")),
            *super().get_urls(),
        ]

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Show what a file would change, and change it once a person has seen that."""
        if not (self.has_add_permission(request) and self.has_change_permission(request)):
            raise PermissionDenied
        if "content" in request.POST:
            return self._apply(request)
        if request.method != "POST":
            return self._page(request, form=ImportForm())
        form = ImportForm(request.POST, request.FILES)
        return self._preview(request, form) if form.is_valid() else self._page(request, form=form)

    def export_view(self, request: HttpRequest, form: str) -> HttpResponse:
        """Send what all share as a file."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if form not in FORMS:
            raise Http404("relations are exported as json or graphml")
        content_type, filename = FORMS[form]
        headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
        content = export.text(export.document(), Form(form))
        return HttpResponse(content, content_type=content_type, headers=headers)

    def _preview(self, request: HttpRequest, form: ImportForm) -> HttpResponse:
        file = form.cleaned_data["file"]
        data, options = file.read(), _options(form.cleaned_data)
        try:
            found = _import(request, data, filename=file.name, dry_run=True, **options)
        except ImportRefused as error:
            return self._page(request, form=form, refused=error, filename=file.name)
        carried = _packed(data, filename=file.name, **options)
        return self._page(
            request,
            form=form,
            preview=found,
            shown=found.changes[:MAX_SHOWN],
            more=max(0, len(found.changes) - MAX_SHOWN),
            content=carried if len(carried) <= MAX_CARRIED else "",
        )

    def _apply(self, request: HttpRequest) -> HttpResponse:
        try:
            data, options = _unpacked(request.POST["content"])
        except signing.BadSignature:
            messages.error(request, EXPIRED)
            return redirect(ROUTES.format("import"))
        try:
            done = _import(request, data, **options)
        except ImportRefused as error:
            return self._page(
                request, form=ImportForm(), refused=error, filename=options["filename"]
            )
        # Django writes the first letter of a message large, which a file's name is not to be.
        text = f"Imported {done.filename}: {done.added:,} new, {done.changed:,} changed."
        messages.success(request, text)
        for warning in done.warnings:
            messages.warning(request, warning)
        return redirect(ROUTES.format("changelist"))

    def _page(self, request: HttpRequest, **context: Any) -> HttpResponse:
        shared = {**self.admin_site.each_context(request), "opts": self.opts}
        shared |= {"title": "Import relations", **context}
        return TemplateResponse(request, "admin/graph/tooldependency/import.html", shared)


def _options(data: Mapping[str, Any]) -> dict[str, bool]:
    return {name: data[name] for name in ("as_curated", "skip_unknown")}


def _import(request: HttpRequest, data: bytes, **options: Any) -> Imported:
    caller = caller_of(request)
    origin = caller.user if options["as_curated"] else ""
    return import_graph(caller, data, origin=origin, now=timezone.now(), **options)


def _packed(data: bytes, **options: Any) -> str:
    """Pack a file into signed text, so that what is applied is what was shown."""
    text = base64.b64encode(zlib.compress(data)).decode("ascii")
    return signing.dumps([text, options], salt=__name__)


def _unpacked(content: str) -> tuple[bytes, dict[str, Any]]:
    text, options = signing.loads(content, salt=__name__, max_age=MAX_AGE_S)
    return zlib.decompress(base64.b64decode(text)), options
