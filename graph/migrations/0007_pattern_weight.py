from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('graph', '0006_plain_labels'),
    ]

    operations = [
        migrations.AddField(
            model_name='workflowpattern',
            name='success_weight',
            field=models.FloatField(default=0.0, help_text='The successes, each counted by how certain it is that its calls belong together: 1 for a run of a workflow, less for calls made one by one.'),
        ),
        migrations.RunSQL(
            'UPDATE graph_workflowpattern SET success_weight = successes',
            migrations.RunSQL.noop,
        ),
    ]
