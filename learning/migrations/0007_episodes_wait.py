from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('learning', '0006_unlearned_episodes'),
    ]

    operations = [
        migrations.AddField(
            model_name='unlearnedepisode',
            name='weight',
            field=models.FloatField(blank=True, db_default=1.0, help_text='How much it teaches, in (0, 1]; empty: its prediction has no outcome yet.', null=True),
        ),
    ]
