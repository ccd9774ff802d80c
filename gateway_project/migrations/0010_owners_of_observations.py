from django.db import migrations

# What was observed without a team used to be everybody's. It becomes the private team's of the
# only account that can have acted without one; if there are several, nobody knows whose it is,
# and it is deleted, to be learned anew. Imported history stays shared: its runs have names of
# their own, whereas runs and episodes of this installation are counted by their UUIDs.
ADOPT = """
DO $$
DECLARE
    own constant text := '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
    sole bigint;
    observed text;
BEGIN
    UPDATE execution_speculation AS given SET team_id = private.id
    FROM tools_team AS private JOIN auth_user AS person ON person.id = private.person_id
    WHERE given.team_id IS NULL AND person.username = given."user";

    SELECT min(private.id) INTO sole
    FROM tools_team AS private JOIN auth_user AS person ON person.id = private.person_id
    WHERE (SELECT count(*) FROM tools_membership AS held WHERE held.user_id = person.id) <> 1
       OR EXISTS (SELECT FROM gateway_project_apitoken AS held
                  WHERE held.user_id = person.id AND held.team_id IS NULL)
    HAVING count(*) = 1;

    IF EXISTS (SELECT FROM graph_patternrun WHERE team_id IS NULL AND key ~ own) THEN
        CREATE TEMPORARY TABLE observed_pattern ON COMMIT DROP AS
        SELECT pattern_id AS id, bool_and(key ~ own) AS is_whole
        FROM graph_patternrun WHERE team_id IS NULL
        GROUP BY pattern_id HAVING bool_or(key ~ own);
        IF sole IS NOT NULL THEN
            UPDATE graph_patternrun SET team_id = sole
            WHERE pattern_id IN (SELECT id FROM observed_pattern WHERE is_whole);
            UPDATE graph_workflowpattern SET team_id = sole
            WHERE id IN (SELECT id FROM observed_pattern WHERE is_whole);
            UPDATE graph_learnedbinding SET team_id = sole WHERE team_id IS NULL;
        ELSE
            DELETE FROM graph_patternembedding
            WHERE pattern_id IN (SELECT id FROM observed_pattern WHERE is_whole);
            DELETE FROM graph_learnedbinding WHERE team_id IS NULL;
        END IF;
        DELETE FROM graph_patternrun WHERE team_id IS NULL AND key ~ own;
        DELETE FROM graph_workflowpattern
        WHERE team_id IS NULL AND id IN (SELECT id FROM observed_pattern WHERE is_whole);
        UPDATE graph_workflowpattern AS pattern
        SET successes = kept.successes, failures = kept.failures, success_weight = kept.successes
        FROM (
            SELECT pattern_id, count(*) FILTER (WHERE succeeded) AS successes,
                   count(*) FILTER (WHERE NOT succeeded) AS failures
            FROM graph_patternrun GROUP BY pattern_id
        ) AS kept
        WHERE kept.pattern_id = pattern.id
          AND pattern.id IN (SELECT id FROM observed_pattern WHERE NOT is_whole);
        DELETE FROM graph_fittedmodel;
    END IF;

    IF sole IS NOT NULL THEN
        UPDATE learning_unlearnedepisode SET person = sole WHERE team_id IS NULL;
        UPDATE graph_relationevidence SET team_id = sole
        WHERE team_id IS NULL AND source = 'observed';
    ELSE
        DELETE FROM graph_relationevidence WHERE team_id IS NULL AND source = 'observed';
        DELETE FROM learning_thresholdchange WHERE threshold_id IN (
            SELECT id FROM learning_adaptivethreshold WHERE team_id IS NULL);
    END IF;
    FOREACH observed IN ARRAY ARRAY[
        'graph_toolusage', 'graph_outputshape', 'execution_speculationagreement',
        'learning_toolexperience', 'learning_episodicevent', 'learning_intentvector',
        'learning_unlearnedepisode', 'learning_adaptivethreshold', 'learning_predictiontotal'
    ] LOOP
        IF sole IS NOT NULL THEN
            EXECUTE format('UPDATE %I SET team_id = $1 WHERE team_id IS NULL', observed)
            USING sole;
        ELSE
            EXECUTE format('DELETE FROM %I WHERE team_id IS NULL', observed);
        END IF;
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):
    """Give what was observed without a team to the person who did it."""

    dependencies = [
        ("execution", "0008_run_tool_group"),
        ("gateway_project", "0009_notify_of_migrations_additive"),
        ("graph", "0010_literal_witnesses"),
        ("learning", "0008_contributions"),
        ("tools", "0018_private_teams"),
    ]

    operations = [migrations.RunSQL(ADOPT, migrations.RunSQL.noop)]
