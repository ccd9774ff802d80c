from django.db import migrations

ADAPTED = 'sentence-transformers/all-MiniLM-L6-v2'


def drop_vectors(apps, schema_editor):
    """Drop intents' vectors by the model whose adapter was trained again; they are made again."""
    apps.get_model('graph', 'PatternEmbedding').objects.filter(model=ADAPTED).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('graph', '0008_embed_intents_again'),
    ]

    operations = [
        migrations.RunPython(drop_vectors, migrations.RunPython.noop),
    ]
