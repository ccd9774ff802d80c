"""Categories: all teams share them, so that only superusers change one that there is."""

import pytest

from gateway_project.access.roles import NotPermitted
from gateway_project.foundation.caller import Caller
from gateway_project.use_cases.curate_catalogue import delete_category, save_category
from tests.factories import CategoryFactory, MembershipFactory, TeamFactory
from tests.gateway.admin_pages import act, page, sign_in_staff
from tools.models import Category
from tools.store.configuration import load_categories

pytestmark = pytest.mark.django_db

ROOT = Caller(user="root", team=None, scopes=frozenset({"*"}), kind="console")


def test_a_curator_of_one_team_adds_a_category_but_changes_and_deletes_none():
    curator = Caller(
        user="ann", team=TeamFactory().pk, scopes=frozenset({"curate"}), kind="console"
    )
    save_category(curator, "files", description="Of disks")
    with pytest.raises(NotPermitted, match="only a superuser decides what concerns all teams"):
        save_category(curator, "files", description="Of lawyers")
    with pytest.raises(NotPermitted):
        delete_category(curator, "files")
    assert load_categories() == {"files": "Of disks"}


def test_a_superuser_changes_and_deletes_a_category():
    save_category(ROOT, "files", description="Of disks")
    save_category(ROOT, "files", description="Of lawyers")
    assert load_categories() == {"files": "Of lawyers"}
    delete_category(ROOT, "files")
    assert load_categories() == {}


def test_staff_of_one_team_change_and_delete_no_category_in_the_admin(client):
    MembershipFactory(user=sign_in_staff(client))
    row = CategoryFactory(name="files")
    values = {"name": "law", "description": ""}
    assert client.post(page(Category, "change", row.pk), values).status_code == 403
    assert client.post(page(Category, "delete", row.pk), {"post": "yes"}).status_code == 403
    act(client, Category, "delete_selected", row, post="yes")
    assert list(load_categories()) == ["files"]
