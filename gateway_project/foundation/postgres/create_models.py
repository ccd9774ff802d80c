"""Operation of migrations that creates the tables of many models at once."""

from __future__ import annotations

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState


class CreateModels(migrations.SeparateDatabaseAndState):
    """Creates the tables of models in the form that all its operations together give them.

    Django renders all models that are related to one, which here are nearly all, anew after each
    operation on it. Here they are rendered once, with every field, index and constraint.
    """

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Add the models to the state, and have it rendered when it is needed."""
        state.__dict__.pop("apps", None)  # else each operation renders them
        super().state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Create the tables of the models in their final form."""
        for operation in self.state_operations:
            if isinstance(operation, migrations.CreateModel):
                operation.database_forwards(app_label, schema_editor, from_state, to_state)
