import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('learning', '0003_episodic_memory'),
        ('tools', '0013_plain_labels'),
    ]

    operations = [
        migrations.CreateModel(
            name='AdaptiveThreshold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('domain_hash', models.BigIntegerField(blank=True, help_text='Keyed hash of the domain; empty: any other domain.', null=True)),
                ('context_hash', models.BigIntegerField(blank=True, help_text='Keyed hash of the context; empty: any other context of the domain.', null=True)),
                ('policy', models.CharField(help_text='Policy that computed it.', max_length=20)),
                ('threshold', models.FloatField(help_text='Computed confidence from which to speculate.')),
                ('override', models.FloatField(blank=True, help_text='Set by an administrator and used instead, from 0.70 to 0.95; empty: none.', null=True, validators=[django.core.validators.MinValueValidator(0.7), django.core.validators.MaxValueValidator(0.95)])),
                ('preset', models.FloatField(blank=True, help_text='Where the domain starts by setting; empty: not set.', null=True)),
                ('suspended', models.BooleanField(default=False, help_text='Whether speculation is suspended: no threshold reaches the target.')),
                ('level', models.CharField(choices=[('context', 'context'), ('domain', 'domain'), ('team', 'team'), ('none', 'none')], help_text='The level of evidence that it leans on.', max_length=8)),
                ('sample_weight', models.FloatField(default=0.0, help_text="Weight of that level's resolved predictions; older count less.")),
                ('expected_success', models.FloatField(blank=True, help_text='Expected share of successes at or above it.', null=True)),
                ('success_bound', models.FloatField(blank=True, help_text='Lower bound of that share.', null=True)),
                ('converged', models.BooleanField(default=False, help_text='Whether more evidence of the same kind would hardly move it.')),
                ('updated_at', models.DateTimeField(help_text='When it was last computed or overridden.')),
                ('team', models.ForeignKey(blank=True, help_text='Team whose predictions it applies to; empty: callers without a team.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
            ],
        ),
        migrations.CreateModel(
            name='ThresholdChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('before', models.FloatField(blank=True, help_text='Threshold in force before; empty: there was none.', null=True)),
                ('after', models.FloatField(help_text='Threshold in force since.')),
                ('reason', models.CharField(choices=[('evidence', 'Evidence'), ('override', 'Override')], max_length=8)),
                ('evidence', models.JSONField(default=dict, help_text='Figures that justified it.')),
                ('user', models.CharField(blank=True, default='', help_text='Administrator; empty: the policy.', max_length=150)),
                ('at', models.DateTimeField()),
                ('threshold', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='learning.adaptivethreshold')),
            ],
        ),
        migrations.AddConstraint(
            model_name='adaptivethreshold',
            constraint=models.UniqueConstraint(fields=('team', 'domain_hash', 'context_hash'), name='threshold_once_per_context', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='adaptivethreshold',
            constraint=models.CheckConstraint(condition=models.Q(('threshold__gte', 0.7), ('threshold__lte', 0.95)), name='threshold_in_bounds'),
        ),
        migrations.AddConstraint(
            model_name='adaptivethreshold',
            constraint=models.CheckConstraint(condition=models.Q(('override__isnull', True), models.Q(('override__gte', 0.7), ('override__lte', 0.95)), _connector='OR'), name='threshold_override_in_bounds'),
        ),
        migrations.AddConstraint(
            model_name='adaptivethreshold',
            constraint=models.CheckConstraint(condition=models.Q(('preset__isnull', True), models.Q(('preset__gte', 0.7), ('preset__lte', 0.95)), _connector='OR'), name='threshold_preset_in_bounds'),
        ),
        migrations.AddConstraint(
            model_name='adaptivethreshold',
            constraint=models.CheckConstraint(condition=models.Q(('context_hash__isnull', True), ('domain_hash__isnull', False), _connector='OR'), name='threshold_context_in_domain'),
        ),
        migrations.AddIndex(
            model_name='thresholdchange',
            index=models.Index(fields=['threshold', '-at'], name='threshold_history'),
        ),
        migrations.AddConstraint(
            model_name='thresholdchange',
            constraint=models.CheckConstraint(condition=models.Q(('after__gte', 0.7), ('after__lte', 0.95)), name='threshold_change_in_bounds'),
        ),
    ]
