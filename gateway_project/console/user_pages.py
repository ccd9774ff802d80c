"""Pages of users and groups, which only superusers change."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from gateway_project.access import audit, user_names
from gateway_project.console.audited_admin import AuditedAdmin, caller_of
from tools import generic_django  # noqa: F401 - for the subscripts below
from tools.admin_bases import SuperuserWriteAdmin

PASSWORD_CHANGED = {"changed": ["password"]}


class _NamedUserMixin(ModelForm[User]):
    """Refuses names that no user can have."""

    def clean_username(self) -> str:
        """Check the name, as a new user's or as the one's who is renamed."""
        inherited = getattr(super(), "clean_username", None)
        name = str(inherited() if inherited else self.cleaned_data["username"])
        if problem := user_names.find_name_problem(name, account=self.instance.pk):
            raise ValidationError(problem)
        return name


class _NewUserForm(_NamedUserMixin, AdminUserCreationForm[User]):
    """A new user."""


class _UserForm(_NamedUserMixin, UserChangeForm[User]):
    """A user who is changed."""


class AuditedUserAdmin(SuperuserWriteAdmin, AuditedAdmin, UserAdmin[User]):
    """Users, with audited changes; only superusers edit them, since editing allows taking over."""

    form = _UserForm
    add_form = _NewUserForm

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Also record a new password, which is set on a page of its own."""
        match = request.resolver_match
        if match and match.url_name == "auth_user_password_change":
            audit.record_audit(
                caller_of(request), "user.changed", str(obj), detail=PASSWORD_CHANGED
            )
        return super().log_change(request, obj, message)

    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002 - Django's
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponse:
        """Set the password of somebody else and record it in one transaction.

        One's own is changed on a page that asks for the current one.
        """
        if self.get_object(request, unquote(id)).pk == request.user.pk:
            return redirect("account_change_password")
        with transaction.atomic():
            return super().user_change_password(request, id, *args, **kwargs)


class AuditedGroupAdmin(SuperuserWriteAdmin, AuditedAdmin, GroupAdmin):
    """Groups with their permissions, with audited changes."""
