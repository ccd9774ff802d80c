from django.db import migrations

ADAPTED = 'sentence-transformers/all-MiniLM-L6-v2'


def drop_vectors(apps, schema_editor):
    """Drop intents' vectors by the model that got an adapter for queries; they are made again."""
    apps.get_model('graph', 'PatternEmbedding').objects.filter(model=ADAPTED).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('graph', '0007_pattern_weight'),
    ]

    operations = [
        migrations.RunPython(drop_vectors, migrations.RunPython.noop),
    ]
