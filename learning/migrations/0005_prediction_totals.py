import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('learning', '0004_thresholds'),
        ('tools', '0013_plain_labels'),
    ]

    operations = [
        migrations.CreateModel(
            name='PredictionTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('form', models.CharField(choices=[('intent', 'Intent'), ('next_call', 'Next Call'), ('next_layer', 'Next Layer')], max_length=10)),
                ('shadow', models.BooleanField(help_text='Whether they were only predicted, not run ahead.')),
                ('day', models.DateField(help_text='Day of the outcome, UTC.')),
                ('decile', models.PositiveSmallIntegerField(help_text='Chance stated for them, in tenths rounded down: 0 to 9.')),
                ('predictions', models.PositiveBigIntegerField(default=0)),
                ('hits', models.PositiveBigIntegerField(default=0, help_text='Those that were right.')),
                ('wasted', models.PositiveBigIntegerField(default=0, help_text='Those that were wrong, or were not used.')),
                ('chance', models.FloatField(default=0.0, help_text='Sum of the chances stated.')),
                ('saved_ms', models.FloatField(default=0.0, help_text='Milliseconds that the hits save.')),
                ('wasted_ms', models.FloatField(default=0.0, help_text='Milliseconds that the others take.')),
                ('cost', models.DecimalField(decimal_places=6, default=0, help_text="Price of the wasted calls whose servers' prices are known.", max_digits=14)),
                ('unpriced', models.PositiveBigIntegerField(default=0, help_text='Wasted predictions whose price is not known.')),
                ('team', models.ForeignKey(blank=True, help_text='Team of the callers; empty: callers without a team.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                ('tool', models.ForeignKey(blank=True, help_text='The predicted tool; empty: a workflow as a whole.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.tool')),
            ],
            options={
                'verbose_name': 'prediction total',
                'indexes': [models.Index(fields=['day'], name='prediction_total_day')],
                'constraints': [models.UniqueConstraint(fields=('team', 'tool', 'form', 'shadow', 'day', 'decile'), name='prediction_total_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('decile__lte', 9)), name='prediction_decile_known')],
            },
        ),
    ]
