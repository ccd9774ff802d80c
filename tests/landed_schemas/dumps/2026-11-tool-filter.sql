CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
CREATE FUNCTION public.execution_follow_account() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE execution_workflowexecution
    SET idempotency_key = '', "user" = CASE TG_OP
        WHEN 'UPDATE' THEN NEW.username
        ELSE left(OLD.username, 120) || ' (deleted ' || OLD.id || ')' END
    WHERE "user" = OLD.username;
    UPDATE execution_speculation SET "user" = CASE TG_OP
        WHEN 'UPDATE' THEN NEW.username
        ELSE left(OLD.username, 120) || ' (deleted ' || OLD.id || ')' END
    WHERE "user" = OLD.username;
    RETURN NULL;
END $$;
CREATE FUNCTION public.execution_notify_speculation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('foregate_speculation', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
CREATE FUNCTION public.gateway_digest_user_name(name text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT encode(sha256(convert_to(name, 'UTF8')), 'hex')
$$;
CREATE FUNCTION public.gateway_notify_of_migrations() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('foregate_replaced', '');
    RETURN NULL;
END
$$;
CREATE FUNCTION public.gateway_queue_deliveries(about text, team bigint, content jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO gateway_project_webhookdelivery (
        webhook_id, event, data, occurred_at, attempts, status, next_attempt_at, ended_at, error)
    SELECT hook.id, about, content, now(), 0,
        CASE WHEN queue.is_full THEN 'given_up' ELSE 'pending' END,
        CASE WHEN queue.is_full THEN NULL ELSE now() END,
        CASE WHEN queue.is_full THEN now() END,
        CASE WHEN queue.is_full THEN 'too many messages waited for this webhook' ELSE '' END
    FROM gateway_project_webhook AS hook, LATERAL (
        SELECT count(*) >= 1000 AS is_full FROM (
            SELECT FROM gateway_project_webhookdelivery AS waiting
            WHERE waiting.webhook_id = hook.id AND waiting.status = 'pending'
            LIMIT 1000) AS counted) AS queue
    WHERE hook.enabled AND about = ANY(hook.events) AND (
        hook.team_id IS NULL OR hook.team_id = team
        OR (team IS NULL AND about = 'definition.changed'));
    IF FOUND THEN
        PERFORM pg_notify('foregate_deliveries', '');
    END IF;
END
$$;
CREATE FUNCTION public.gateway_refuse_user_name() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.username IN ('', '.', '..') THEN
        RAISE EXCEPTION 'no user can be named %', quote_literal(NEW.username)
        USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM gateway_project_retiredusername AS retired
        WHERE retired.digest = gateway_digest_user_name(NEW.username)
        AND retired.account <> NEW.id
    ) THEN
        RAISE EXCEPTION 'the name % was that of another user', quote_literal(NEW.username)
        USING ERRCODE = 'unique_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE FUNCTION public.gateway_retire_user_name() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO gateway_project_retiredusername (digest, account)
    VALUES (gateway_digest_user_name(OLD.username), OLD.id)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.gateway_tell_approval() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM gateway_queue_deliveries('approval.waiting', run.team_id, jsonb_build_object(
        'approval', NEW.id, 'run', NEW.run_id, 'task', NEW.task, 'tool', NEW.tool,
        'reason', NEW.reason, 'user', run."user", 'expires_at', NEW.expires_at))
    FROM execution_workflowexecution AS run WHERE run.id = NEW.run_id;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.gateway_tell_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM gateway_queue_deliveries('definition.changed', server.team_id, jsonb_build_object(
        'id', NEW.id, 'tool', server.name || ':' || NEW.name, 'server', server.name))
    FROM tools_server AS server WHERE server.id = NEW.server_id;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.gateway_tell_failure() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM gateway_queue_deliveries('run.failed', NEW.team_id, jsonb_build_object(
        'run', NEW.id, 'code', NEW.error_code, 'user', NEW."user"));
    RETURN NULL;
END
$$;
CREATE FUNCTION public.graph_fittedmodel_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (SELECT FROM touched) THEN
        PERFORM pg_notify('foregate_graph', 'fitted');
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.graph_patternembedding_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (SELECT FROM touched) THEN
        PERFORM pg_notify('foregate_graph', 'patterns');
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.graph_relationevidence_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    amount bigint;
    named text;
BEGIN
    SELECT count(*) INTO amount
    FROM (SELECT DISTINCT relation_id FROM touched LIMIT 10001) AS few;
    IF amount > 10000 THEN
        PERFORM pg_notify('foregate_graph', 'all');
        RETURN NULL;
    END IF;
    FOR named IN
        SELECT string_agg(id::text, ',' ORDER BY id)
        FROM (
            SELECT id, sum(length(id::text) + 1) OVER (ORDER BY id) / 7860 AS part
            FROM (SELECT DISTINCT relation_id AS id FROM touched) AS every
        ) AS placed
        GROUP BY part
    LOOP
        PERFORM pg_notify('foregate_graph', 'relations:' || named);
    END LOOP;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.graph_tooldependency_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    amount bigint;
    named text;
BEGIN
    SELECT count(*) INTO amount
    FROM (SELECT DISTINCT id FROM touched LIMIT 10001) AS few;
    IF amount > 10000 THEN
        PERFORM pg_notify('foregate_graph', 'all');
        RETURN NULL;
    END IF;
    FOR named IN
        SELECT string_agg(id::text, ',' ORDER BY id)
        FROM (
            SELECT id, sum(length(id::text) + 1) OVER (ORDER BY id) / 7860 AS part
            FROM (SELECT DISTINCT id AS id FROM touched) AS every
        ) AS placed
        GROUP BY part
    LOOP
        PERFORM pg_notify('foregate_graph', 'relations:' || named);
    END LOOP;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.graph_workflowpattern_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (SELECT FROM touched) THEN
        PERFORM pg_notify('foregate_graph', 'patterns');
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.tools_add_private_team() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO tools_team (name, approve_from, requires_second_person, created_at, person_id)
    VALUES (left(NEW.username, 100), 'dangerous', false, now(), NEW.id)
    ON CONFLICT (person_id) DO UPDATE SET name = excluded.name;
    RETURN NULL;
END $$;
CREATE FUNCTION public.tools_notify_catalogue() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('foregate_catalogue', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
CREATE FUNCTION public.tools_notify_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('foregate_search', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
CREATE TABLE public.account_emailaddress (
    id integer NOT NULL,
    email character varying(254) NOT NULL,
    verified boolean NOT NULL,
    "primary" boolean NOT NULL,
    user_id integer NOT NULL
);
ALTER TABLE public.account_emailaddress ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.account_emailaddress_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.account_emailconfirmation (
    id integer NOT NULL,
    created timestamp with time zone NOT NULL,
    sent timestamp with time zone,
    key character varying(64) NOT NULL,
    email_address_id integer NOT NULL
);
ALTER TABLE public.account_emailconfirmation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.account_emailconfirmation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group (
    id integer NOT NULL,
    name character varying(150) NOT NULL
);
ALTER TABLE public.auth_group ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group_permissions (
    id bigint NOT NULL,
    group_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_group_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_permission (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    content_type_id integer NOT NULL,
    codename character varying(100) NOT NULL
);
ALTER TABLE public.auth_permission ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_permission_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_user (
    id integer NOT NULL,
    password character varying(128) NOT NULL,
    last_login timestamp with time zone,
    is_superuser boolean NOT NULL,
    username character varying(150) NOT NULL,
    first_name character varying(150) NOT NULL,
    last_name character varying(150) NOT NULL,
    email character varying(254) NOT NULL,
    is_staff boolean NOT NULL,
    is_active boolean NOT NULL,
    date_joined timestamp with time zone NOT NULL
);
CREATE TABLE public.auth_user_groups (
    id bigint NOT NULL,
    user_id integer NOT NULL,
    group_id integer NOT NULL
);
ALTER TABLE public.auth_user_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.auth_user ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_user_user_permissions (
    id bigint NOT NULL,
    user_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_user_user_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_user_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.axes_accessattempt (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    get_data text NOT NULL,
    post_data text NOT NULL,
    failures_since_start integer NOT NULL,
    CONSTRAINT axes_accessattempt_failures_since_start_check CHECK ((failures_since_start >= 0))
);
ALTER TABLE public.axes_accessattempt ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accessattempt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.axes_accessattemptexpiration (
    access_attempt_id integer NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE public.axes_accessfailurelog (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    locked_out boolean NOT NULL
);
ALTER TABLE public.axes_accessfailurelog ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accessfailurelog_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.axes_accesslog (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    logout_time timestamp with time zone,
    session_hash character varying(64) NOT NULL
);
ALTER TABLE public.axes_accesslog ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accesslog_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_admin_log (
    id integer NOT NULL,
    action_time timestamp with time zone NOT NULL,
    object_id text,
    object_repr character varying(200) NOT NULL,
    action_flag smallint NOT NULL,
    change_message text NOT NULL,
    content_type_id integer,
    user_id integer NOT NULL,
    CONSTRAINT django_admin_log_action_flag_check CHECK ((action_flag >= 0))
);
ALTER TABLE public.django_admin_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_admin_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_content_type (
    id integer NOT NULL,
    app_label character varying(100) NOT NULL,
    model character varying(100) NOT NULL
);
ALTER TABLE public.django_content_type ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_content_type_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_migrations (
    id bigint NOT NULL,
    app character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp with time zone NOT NULL
);
ALTER TABLE public.django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_session (
    session_key character varying(40) NOT NULL,
    session_data text NOT NULL,
    expire_date timestamp with time zone NOT NULL
);
CREATE TABLE public.execution_approval (
    id uuid NOT NULL,
    task text NOT NULL,
    item integer NOT NULL,
    tool text NOT NULL,
    definition_hash character varying(64) NOT NULL,
    arguments_digest character varying(64) NOT NULL,
    reason text NOT NULL,
    status character varying(10) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    decided_at timestamp with time zone,
    decided_by character varying(150) NOT NULL,
    decided_via character varying(12) NOT NULL,
    used_at timestamp with time zone,
    run_id uuid NOT NULL,
    CONSTRAINT approval_status_known CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'approved'::character varying, 'rejected'::character varying, 'used'::character varying, 'expired'::character varying, 'withdrawn'::character varying])::text[])))
);
CREATE TABLE public.execution_budgetreservation (
    id uuid NOT NULL,
    dollars numeric(10,6) NOT NULL,
    reserved_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    spent_at timestamp with time zone,
    server_id bigint NOT NULL,
    team_id bigint,
    CONSTRAINT reservation_positive CHECK ((dollars > (0)::numeric))
);
CREATE TABLE public.execution_executionevent (
    id bigint NOT NULL,
    seq bigint NOT NULL,
    kind character varying(30) NOT NULL,
    task text NOT NULL,
    item integer NOT NULL,
    at timestamp with time zone NOT NULL,
    data jsonb NOT NULL,
    run_id uuid NOT NULL,
    CONSTRAINT execution_executionevent_seq_check CHECK ((seq >= 0))
);
ALTER TABLE public.execution_executionevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_executionevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_payload (
    id bigint NOT NULL,
    kind character varying(10) NOT NULL,
    task text NOT NULL,
    item bigint NOT NULL,
    content bytea NOT NULL,
    size bigint NOT NULL,
    run_id uuid NOT NULL,
    CONSTRAINT execution_payload_size_check CHECK ((size >= 0))
);
ALTER TABLE ONLY public.execution_payload ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE public.execution_payload ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_payload_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_runcommand (
    id bigint NOT NULL,
    action character varying(10) NOT NULL,
    "user" character varying(150) NOT NULL,
    kind character varying(10) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    applied_at timestamp with time zone,
    outcome character varying(60) NOT NULL,
    detail jsonb NOT NULL,
    run_id uuid NOT NULL
);
ALTER TABLE public.execution_runcommand ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_runcommand_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_speculation (
    id uuid NOT NULL,
    "user" character varying(150) NOT NULL,
    form character varying(10) NOT NULL,
    shadow boolean NOT NULL,
    context_hash bigint NOT NULL,
    domain_hash bigint NOT NULL,
    context_sealed text NOT NULL,
    confidence double precision NOT NULL,
    ranked_confidence double precision NOT NULL,
    threshold double precision NOT NULL,
    admitted boolean NOT NULL,
    runnable boolean NOT NULL,
    tools bigint[] NOT NULL,
    workflow_digest character varying(64) NOT NULL,
    saves_ms double precision,
    tokens integer,
    fallback character varying(40) NOT NULL,
    tasks jsonb,
    took_ms double precision,
    created_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    evidence character varying(12) NOT NULL,
    run uuid,
    changed_tools bigint[],
    verdict character varying(8) NOT NULL,
    outcome character varying(8) NOT NULL,
    explicit boolean NOT NULL,
    weight double precision NOT NULL,
    resolved_at timestamp with time zone,
    content bytea,
    team_id bigint,
    CONSTRAINT execution_speculation_tokens_check CHECK ((tokens >= 0)),
    CONSTRAINT speculation_confidence_in_range CHECK (((confidence >= (0.0)::double precision) AND (confidence <= (1.0)::double precision))),
    CONSTRAINT speculation_outcome_known CHECK (((outcome)::text = ANY ((ARRAY[''::character varying, 'hit'::character varying, 'miss'::character varying, 'rejected'::character varying, 'modified'::character varying, 'failed'::character varying, 'expired'::character varying])::text[]))),
    CONSTRAINT speculation_resolved_once CHECK (((((outcome)::text = ''::text) AND (resolved_at IS NULL)) OR ((NOT ((outcome)::text = ''::text)) AND (resolved_at IS NOT NULL))))
);
CREATE TABLE public.execution_speculationagreement (
    id bigint NOT NULL,
    definition_hash character varying(64) NOT NULL,
    launch_hash character varying(64) NOT NULL,
    agreed integer NOT NULL,
    disagreed integer NOT NULL,
    ages_s double precision[] NOT NULL,
    compared_at timestamp with time zone NOT NULL,
    reset_by character varying(150) NOT NULL,
    reset_at timestamp with time zone,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT execution_speculationagreement_agreed_check CHECK ((agreed >= 0)),
    CONSTRAINT execution_speculationagreement_disagreed_check CHECK ((disagreed >= 0))
);
ALTER TABLE public.execution_speculationagreement ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_speculationagreement_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_speculationbudget (
    id bigint NOT NULL,
    waste double precision NOT NULL,
    calls_per_minute integer NOT NULL,
    dollars_per_day numeric(10,4) NOT NULL,
    server_id bigint NOT NULL,
    CONSTRAINT budget_dollars_not_negative CHECK ((dollars_per_day >= (0)::numeric)),
    CONSTRAINT budget_waste_in_range CHECK (((waste >= (0.0)::double precision) AND (waste <= (1.0)::double precision))),
    CONSTRAINT execution_speculationbudget_calls_per_minute_check CHECK ((calls_per_minute >= 0))
);
ALTER TABLE public.execution_speculationbudget ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_speculationbudget_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_speculationcontrol (
    id smallint NOT NULL,
    is_on boolean NOT NULL,
    changed_by character varying(150) NOT NULL,
    changed_at timestamp with time zone,
    CONSTRAINT execution_speculationcontrol_id_check CHECK ((id >= 0)),
    CONSTRAINT speculation_control_one_row CHECK ((id = 1))
);
CREATE TABLE public.execution_speculationgrant (
    id bigint NOT NULL,
    definition_hash character varying(64) NOT NULL,
    launch_hash character varying(64) NOT NULL,
    is_closed_world boolean NOT NULL,
    granted_by character varying(150) NOT NULL,
    granted_at timestamp with time zone NOT NULL,
    note character varying(1000) NOT NULL,
    revoked_by character varying(150) NOT NULL,
    revoked_at timestamp with time zone,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT grant_by_somebody CHECK ((NOT ((granted_by)::text = ''::text))),
    CONSTRAINT grant_hashes_whole CHECK ((((definition_hash)::text ~ '^[0-9a-f]{64}$'::text) AND ((launch_hash)::text ~ '^[0-9a-f]{64}$'::text))),
    CONSTRAINT grant_revoked_by_somebody CHECK ((((revoked_at IS NULL) AND ((revoked_by)::text = ''::text)) OR ((revoked_at >= granted_at) AND (revoked_at IS NOT NULL) AND (NOT ((revoked_by)::text = ''::text)))))
);
ALTER TABLE public.execution_speculationgrant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_speculationgrant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_taskrun (
    id bigint NOT NULL,
    task text NOT NULL,
    item integer NOT NULL,
    "position" integer NOT NULL,
    tool text NOT NULL,
    status character varying(16) NOT NULL,
    attempts integer NOT NULL,
    definition_hash character varying(64) NOT NULL,
    arguments_digest character varying(64) NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    duration_ms double precision,
    error_code character varying(60) NOT NULL,
    result_bytes bigint,
    run_id uuid NOT NULL,
    CONSTRAINT execution_taskrun_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT execution_taskrun_position_check CHECK (("position" >= 0)),
    CONSTRAINT execution_taskrun_result_bytes_check CHECK ((result_bytes >= 0)),
    CONSTRAINT task_status_known CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'running'::character varying, 'waiting_approval'::character varying, 'succeeded'::character varying, 'failed'::character varying, 'skipped'::character varying, 'cancelled'::character varying, 'unknown'::character varying])::text[])))
);
ALTER TABLE public.execution_taskrun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_taskrun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_workflowexecution (
    id uuid NOT NULL,
    "user" character varying(150) NOT NULL,
    tool_group character varying(64) NOT NULL,
    scopes jsonb NOT NULL,
    kind character varying(10) NOT NULL,
    is_direct boolean NOT NULL,
    status character varying(16) NOT NULL,
    options jsonb NOT NULL,
    version integer NOT NULL,
    tasks_total integer NOT NULL,
    idempotency_key character varying(64) NOT NULL,
    request_digest character varying(64) NOT NULL,
    owner character varying(64) NOT NULL,
    epoch integer NOT NULL,
    lease_until timestamp with time zone,
    last_seq bigint NOT NULL,
    error_code character varying(60) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    changed_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    deadline_at timestamp with time zone,
    delivered_at timestamp with time zone,
    learned_at timestamp with time zone,
    team_id bigint,
    CONSTRAINT execution_workflowexecution_epoch_check CHECK ((epoch >= 0)),
    CONSTRAINT execution_workflowexecution_last_seq_check CHECK ((last_seq >= 0)),
    CONSTRAINT execution_workflowexecution_tasks_total_check CHECK ((tasks_total >= 0)),
    CONSTRAINT execution_workflowexecution_version_check CHECK ((version >= 0)),
    CONSTRAINT run_status_known CHECK (((status)::text = ANY ((ARRAY['queued'::character varying, 'running'::character varying, 'paused'::character varying, 'waiting'::character varying, 'succeeded'::character varying, 'partial_success'::character varying, 'failed'::character varying, 'aborted'::character varying, 'unknown'::character varying])::text[])))
);
CREATE TABLE public.gateway_project_apitoken (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    prefix character varying(12) NOT NULL,
    digest character varying(64) NOT NULL,
    scopes jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    team_id bigint,
    tool_group_id bigint,
    user_id integer NOT NULL,
    CONSTRAINT token_is_hashed CHECK (((digest)::text ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT token_scopes_are_texts CHECK (jsonb_path_exists(scopes, 'strict $?(@.type() == "array" && !(exists (@[*]?(@.type() != "string"))))'::jsonpath))
);
ALTER TABLE public.gateway_project_apitoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_apitoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_auditentry (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor character varying(150) NOT NULL,
    kind character varying(10) NOT NULL,
    action character varying(60) NOT NULL,
    subject text NOT NULL,
    request_id character varying(32) NOT NULL,
    detail jsonb NOT NULL,
    team_id bigint,
    user_id integer
);
ALTER TABLE public.gateway_project_auditentry ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_auditentry_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_idempotentrequest (
    id bigint NOT NULL,
    digest character varying(64) NOT NULL,
    request_digest character varying(64) NOT NULL,
    status smallint,
    content bytea,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT gateway_project_idempotentrequest_status_check CHECK ((status >= 0))
);
ALTER TABLE public.gateway_project_idempotentrequest ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_idempotentrequest_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_metrictotal (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    labels jsonb NOT NULL,
    value double precision NOT NULL
);
ALTER TABLE public.gateway_project_metrictotal ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_metrictotal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_oauthclient (
    id bigint NOT NULL,
    client_id character varying(255) NOT NULL,
    redirect_uris text NOT NULL,
    post_logout_redirect_uris text NOT NULL,
    client_type character varying(32) NOT NULL,
    authorization_grant_type character varying(44) NOT NULL,
    client_secret character varying(255) NOT NULL,
    hash_client_secret boolean NOT NULL,
    name character varying(255) NOT NULL,
    skip_authorization boolean NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    algorithm character varying(5) NOT NULL,
    allowed_origins text NOT NULL,
    registration_source character varying(32) NOT NULL,
    cimd_expires_at timestamp with time zone,
    registered_from character varying(45) NOT NULL,
    user_id integer
);
ALTER TABLE public.gateway_project_oauthclient ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_oauthclient_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_onetimepassword (
    id bigint NOT NULL,
    digest character varying(64) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    user_id integer NOT NULL
);
ALTER TABLE public.gateway_project_onetimepassword ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_onetimepassword_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_retiredusername (
    digest character varying(64) NOT NULL,
    account bigint NOT NULL
);
CREATE TABLE public.gateway_project_webhook (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    url character varying(2000) NOT NULL,
    events character varying(30)[] NOT NULL,
    secret_sealed text NOT NULL,
    enabled boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    team_id bigint,
    CONSTRAINT webhook_events_known CHECK ((events <@ ARRAY['approval.waiting'::character varying(30), 'run.failed'::character varying(30), 'definition.changed'::character varying(30)])),
    CONSTRAINT webhook_url_known CHECK (((url)::text ~ '^(https?://|mailto:)[^ ]+$'::text))
);
ALTER TABLE public.gateway_project_webhook ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_webhook_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_webhookdelivery (
    id bigint NOT NULL,
    event character varying(30) NOT NULL,
    data jsonb NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    status character varying(10) NOT NULL,
    attempts smallint NOT NULL,
    next_attempt_at timestamp with time zone,
    error character varying(300) NOT NULL,
    ended_at timestamp with time zone,
    webhook_id bigint NOT NULL,
    CONSTRAINT gateway_project_webhookdelivery_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT webhook_delivery_status_known CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'delivered'::character varying, 'given_up'::character varying])::text[])))
);
ALTER TABLE public.gateway_project_webhookdelivery ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_webhookdelivery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_fittedmodel (
    id bigint NOT NULL,
    embedding_model character varying(200) NOT NULL,
    content bytea NOT NULL,
    bindings bytea NOT NULL,
    digest character varying(64) NOT NULL,
    refused character varying(64) NOT NULL,
    failure text NOT NULL,
    fitted_at timestamp with time zone NOT NULL,
    seconds double precision NOT NULL,
    peak_memory_mb integer NOT NULL,
    figures jsonb NOT NULL,
    team_id bigint,
    CONSTRAINT graph_fittedmodel_peak_memory_mb_check CHECK ((peak_memory_mb >= 0))
);
ALTER TABLE public.graph_fittedmodel ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_fittedmodel_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_graphsnapshot (
    id bigint NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    digest character varying(64) NOT NULL,
    reason character varying(20) NOT NULL,
    tools integer NOT NULL,
    relations integer NOT NULL,
    statistics jsonb NOT NULL,
    content bytea NOT NULL,
    CONSTRAINT graph_graphsnapshot_relations_check CHECK ((relations >= 0)),
    CONSTRAINT graph_graphsnapshot_tools_check CHECK ((tools >= 0))
);
ALTER TABLE public.graph_graphsnapshot ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_graphsnapshot_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_graphstate (
    id smallint NOT NULL,
    derived_from character varying(64) NOT NULL,
    derived_at timestamp with time zone,
    computed_from character varying(64) NOT NULL,
    computed_at timestamp with time zone,
    statistics jsonb NOT NULL,
    CONSTRAINT graph_graphstate_id_check CHECK ((id >= 0)),
    CONSTRAINT graph_state_once CHECK ((id = 1))
);
CREATE TABLE public.graph_learnedbinding (
    id bigint NOT NULL,
    parameter character varying(200) NOT NULL,
    kind character varying(20) NOT NULL,
    key character varying(64) NOT NULL,
    pointer text NOT NULL,
    nth smallint NOT NULL,
    value jsonb,
    sealed text NOT NULL,
    uses integer NOT NULL,
    runs integer NOT NULL,
    people bigint[] NOT NULL,
    days date[] NOT NULL,
    stated integer NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    giver_id bigint,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT binding_kind_known CHECK (((kind)::text = ANY ((ARRAY['boolean'::character varying, 'call'::character varying, 'default'::character varying, 'enumeration'::character varying, 'literal'::character varying, 'other'::character varying, 'reference'::character varying])::text[]))),
    CONSTRAINT binding_literal_not_in_clear CHECK (((NOT ((kind)::text = 'literal'::text)) OR (value IS NULL))),
    CONSTRAINT binding_sealed_from_three_runs CHECK (((sealed = ''::text) OR (((kind)::text = 'literal'::text) AND (runs >= 3)))),
    CONSTRAINT graph_learnedbinding_runs_check CHECK ((runs >= 0)),
    CONSTRAINT graph_learnedbinding_stated_check CHECK ((stated >= 0)),
    CONSTRAINT graph_learnedbinding_uses_check CHECK ((uses >= 0))
);
ALTER TABLE public.graph_learnedbinding ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_learnedbinding_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_outputshape (
    id bigint NOT NULL,
    definition_hash character varying(64) NOT NULL,
    schema jsonb NOT NULL,
    samples integer NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT graph_outputshape_samples_check CHECK ((samples >= 0))
);
ALTER TABLE public.graph_outputshape ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_outputshape_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_patternembedding (
    id bigint NOT NULL,
    model character varying(200) NOT NULL,
    vector public.vector,
    encoded bytea NOT NULL,
    pattern_id bigint NOT NULL
);
ALTER TABLE public.graph_patternembedding ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_patternembedding_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_patternrun (
    id bigint NOT NULL,
    key character varying(200) NOT NULL,
    succeeded boolean NOT NULL,
    at timestamp with time zone NOT NULL,
    samples bytea NOT NULL,
    team_id bigint,
    pattern_id bigint NOT NULL
);
ALTER TABLE public.graph_patternrun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_patternrun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_relationevidence (
    id bigint NOT NULL,
    source character varying(10) NOT NULL,
    origin character varying(200) NOT NULL,
    confidence double precision,
    successes double precision NOT NULL,
    failures double precision NOT NULL,
    seconds double precision,
    fields jsonb NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    team_id bigint,
    relation_id bigint NOT NULL,
    CONSTRAINT evidence_confidence_in_range CHECK (((confidence IS NULL) OR ((confidence >= (0.0)::double precision) AND (confidence <= (1.0)::double precision)))),
    CONSTRAINT evidence_counts CHECK (((failures >= (0.0)::double precision) AND (successes >= (0.0)::double precision))),
    CONSTRAINT evidence_of_a_team CHECK ((((source)::text = ANY ((ARRAY['observed'::character varying, 'schema'::character varying])::text[])) OR (team_id IS NULL))),
    CONSTRAINT evidence_source_known CHECK (((source)::text = ANY ((ARRAY['curated'::character varying, 'schema'::character varying, 'observed'::character varying, 'imported'::character varying])::text[])))
);
ALTER TABLE public.graph_relationevidence ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_relationevidence_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_tooldependency (
    id bigint NOT NULL,
    kind character varying(20) NOT NULL,
    required boolean NOT NULL,
    rejected boolean NOT NULL,
    reason text NOT NULL,
    version character varying(100) NOT NULL,
    deprecated_at date,
    created_at timestamp with time zone NOT NULL,
    source_id bigint NOT NULL,
    target_id bigint NOT NULL,
    CONSTRAINT relation_both_ways_stored_once CHECK (((NOT ((kind)::text = ANY ((ARRAY['alternative_to'::character varying, 'mutually_exclusive'::character varying, 'often_used_with'::character varying])::text[]))) OR (source_id < target_id))),
    CONSTRAINT relation_kind_known CHECK (((kind)::text = ANY ((ARRAY['depends_on'::character varying, 'precedes'::character varying, 'provides'::character varying, 'often_used_with'::character varying, 'alternative_to'::character varying, 'replaces'::character varying, 'mutually_exclusive'::character varying, 'validates'::character varying, 'optimizes'::character varying])::text[]))),
    CONSTRAINT relation_of_two_tools CHECK ((NOT (source_id = target_id)))
);
ALTER TABLE public.graph_tooldependency ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_tooldependency_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_toolmetric (
    tool_id bigint NOT NULL,
    pagerank double precision NOT NULL,
    community integer NOT NULL,
    betweenness double precision NOT NULL,
    closeness double precision NOT NULL
);
CREATE TABLE public.graph_toolusage (
    id bigint NOT NULL,
    calls bigint NOT NULL,
    failures bigint NOT NULL,
    last_called_at timestamp with time zone NOT NULL,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT graph_toolusage_calls_check CHECK ((calls >= 0)),
    CONSTRAINT graph_toolusage_failures_check CHECK ((failures >= 0))
);
ALTER TABLE public.graph_toolusage ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_toolusage_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_workflowpattern (
    id bigint NOT NULL,
    workflow_hash character varying(64) NOT NULL,
    intent_hash character varying(64) NOT NULL,
    tasks jsonb NOT NULL,
    tools bigint[] NOT NULL,
    intent text NOT NULL,
    successes integer NOT NULL,
    failures integer NOT NULL,
    success_weight double precision NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    team_id bigint,
    CONSTRAINT graph_workflowpattern_failures_check CHECK ((failures >= 0)),
    CONSTRAINT graph_workflowpattern_successes_check CHECK ((successes >= 0))
);
ALTER TABLE public.graph_workflowpattern ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_workflowpattern_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_adaptivethreshold (
    id bigint NOT NULL,
    domain_hash bigint,
    context_hash bigint,
    context_sealed text NOT NULL,
    policy character varying(20) NOT NULL,
    threshold double precision NOT NULL,
    override double precision,
    preset double precision,
    suspended boolean NOT NULL,
    level character varying(8) NOT NULL,
    sample_weight double precision NOT NULL,
    expected_success double precision,
    success_bound double precision,
    converged boolean NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    team_id bigint,
    CONSTRAINT threshold_context_in_domain CHECK (((context_hash IS NULL) OR (domain_hash IS NOT NULL))),
    CONSTRAINT threshold_in_bounds CHECK (((threshold >= (0.7)::double precision) AND (threshold <= (0.95)::double precision))),
    CONSTRAINT threshold_override_in_bounds CHECK (((override IS NULL) OR ((override >= (0.7)::double precision) AND (override <= (0.95)::double precision)))),
    CONSTRAINT threshold_preset_in_bounds CHECK (((preset IS NULL) OR ((preset >= (0.7)::double precision) AND (preset <= (0.95)::double precision))))
);
ALTER TABLE public.learning_adaptivethreshold ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_adaptivethreshold_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_contribution (
    id bigint NOT NULL,
    person bigint NOT NULL,
    tools bigint[] NOT NULL,
    day date NOT NULL,
    today integer NOT NULL,
    since date NOT NULL,
    in_all integer NOT NULL,
    team_id bigint NOT NULL,
    CONSTRAINT learning_contribution_in_all_check CHECK ((in_all >= 0)),
    CONSTRAINT learning_contribution_today_check CHECK ((today >= 0))
);
ALTER TABLE public.learning_contribution ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_contribution_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_episodicevent (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    session bigint NOT NULL,
    tool bigint,
    arguments_hash bigint,
    context_hash bigint,
    context_check bigint,
    intent_hash bigint,
    prediction uuid,
    duration_ms double precision,
    weight double precision NOT NULL,
    kind smallint NOT NULL,
    outcome smallint,
    data jsonb,
    observation bytea,
    sealed bytea,
    team_id bigint
);
ALTER TABLE public.learning_episodicevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_episodicevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_eventspool (
    id uuid NOT NULL,
    "position" bigint NOT NULL,
    loaded_at timestamp with time zone NOT NULL
);
CREATE TABLE public.learning_intentvector (
    id bigint NOT NULL,
    intent_hash bigint NOT NULL,
    model character varying(200) NOT NULL,
    sealed bytea NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    team_id bigint
);
ALTER TABLE public.learning_intentvector ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_intentvector_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_predictiontotal (
    id bigint NOT NULL,
    form character varying(10) NOT NULL,
    shadow boolean NOT NULL,
    day date NOT NULL,
    decile smallint NOT NULL,
    predictions bigint NOT NULL,
    hits bigint NOT NULL,
    wasted bigint NOT NULL,
    chance double precision NOT NULL,
    saved_ms double precision NOT NULL,
    wasted_ms double precision NOT NULL,
    cost numeric(14,6) NOT NULL,
    unpriced bigint NOT NULL,
    team_id bigint,
    tool_id bigint,
    CONSTRAINT learning_predictiontotal_decile_check CHECK ((decile >= 0)),
    CONSTRAINT learning_predictiontotal_hits_check CHECK ((hits >= 0)),
    CONSTRAINT learning_predictiontotal_predictions_check CHECK ((predictions >= 0)),
    CONSTRAINT learning_predictiontotal_unpriced_check CHECK ((unpriced >= 0)),
    CONSTRAINT learning_predictiontotal_wasted_check CHECK ((wasted >= 0)),
    CONSTRAINT prediction_decile_known CHECK ((decile <= 9))
);
ALTER TABLE public.learning_predictiontotal ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_predictiontotal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_thresholdchange (
    id bigint NOT NULL,
    before double precision,
    after double precision NOT NULL,
    reason character varying(8) NOT NULL,
    evidence jsonb NOT NULL,
    "user" character varying(150) NOT NULL,
    at timestamp with time zone NOT NULL,
    threshold_id bigint NOT NULL,
    CONSTRAINT threshold_change_in_bounds CHECK (((after >= (0.7)::double precision) AND (after <= (0.95)::double precision)))
);
ALTER TABLE public.learning_thresholdchange ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_thresholdchange_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_toolexperience (
    id bigint NOT NULL,
    runs double precision NOT NULL,
    runs_at timestamp with time zone NOT NULL,
    calls bigint NOT NULL,
    total_ms double precision NOT NULL,
    latencies bigint[] NOT NULL,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT learning_toolexperience_calls_check CHECK ((calls >= 0))
);
ALTER TABLE public.learning_toolexperience ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_toolexperience_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_unlearnedepisode (
    id uuid NOT NULL,
    person bigint,
    content bytea NOT NULL,
    stored_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    weight double precision DEFAULT 1.0,
    team_id bigint
);
CREATE TABLE public.mfa_authenticator (
    id bigint NOT NULL,
    type character varying(20) NOT NULL,
    data jsonb NOT NULL,
    user_id integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone
);
ALTER TABLE public.mfa_authenticator ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.mfa_authenticator_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_accesstoken (
    id bigint NOT NULL,
    token text NOT NULL,
    expires timestamp with time zone NOT NULL,
    scope text NOT NULL,
    application_id bigint,
    user_id integer,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    source_refresh_token_id bigint,
    id_token_id bigint,
    token_checksum character varying(64) NOT NULL,
    resource jsonb NOT NULL
);
ALTER TABLE public.oauth2_provider_accesstoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_accesstoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_devicegrant (
    id bigint NOT NULL,
    device_code character varying(100) NOT NULL,
    user_code character varying(100) NOT NULL,
    scope text NOT NULL,
    "interval" integer NOT NULL,
    expires timestamp with time zone NOT NULL,
    status character varying(64) NOT NULL,
    client_id character varying(100) NOT NULL,
    last_checked timestamp with time zone NOT NULL,
    user_id integer
);
ALTER TABLE public.oauth2_provider_devicegrant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_devicegrant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_grant (
    id bigint NOT NULL,
    code character varying(255) NOT NULL,
    expires timestamp with time zone NOT NULL,
    redirect_uri text NOT NULL,
    scope text NOT NULL,
    application_id bigint NOT NULL,
    user_id integer NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    code_challenge character varying(128) NOT NULL,
    code_challenge_method character varying(10) NOT NULL,
    nonce character varying(255) NOT NULL,
    claims text NOT NULL,
    resource jsonb NOT NULL
);
ALTER TABLE public.oauth2_provider_grant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_grant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_idtoken (
    id bigint NOT NULL,
    jti uuid NOT NULL,
    expires timestamp with time zone NOT NULL,
    scope text NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    application_id bigint,
    user_id integer
);
ALTER TABLE public.oauth2_provider_idtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_idtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_refreshtoken (
    id bigint NOT NULL,
    token text NOT NULL,
    access_token_id bigint,
    application_id bigint NOT NULL,
    user_id integer NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    revoked timestamp with time zone,
    token_family uuid,
    token_checksum character varying(64) NOT NULL,
    resource jsonb NOT NULL
);
ALTER TABLE public.oauth2_provider_refreshtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_refreshtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.socialaccount_socialaccount (
    id integer NOT NULL,
    provider character varying(200) NOT NULL,
    uid character varying(191) NOT NULL,
    last_login timestamp with time zone NOT NULL,
    date_joined timestamp with time zone NOT NULL,
    extra_data jsonb NOT NULL,
    user_id integer NOT NULL
);
ALTER TABLE public.socialaccount_socialaccount ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.socialaccount_socialaccount_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.socialaccount_socialapp (
    id integer NOT NULL,
    provider character varying(30) NOT NULL,
    name character varying(40) NOT NULL,
    client_id character varying(191) NOT NULL,
    secret character varying(191) NOT NULL,
    key character varying(191) NOT NULL,
    provider_id character varying(200) NOT NULL,
    settings jsonb NOT NULL
);
ALTER TABLE public.socialaccount_socialapp ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.socialaccount_socialapp_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.socialaccount_socialtoken (
    id integer NOT NULL,
    token text NOT NULL,
    token_secret text NOT NULL,
    expires_at timestamp with time zone,
    account_id integer NOT NULL,
    app_id integer
);
ALTER TABLE public.socialaccount_socialtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.socialaccount_socialtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_category (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    description text NOT NULL
);
ALTER TABLE public.tools_category ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_category_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_dangerousoperation (
    id bigint NOT NULL,
    pattern character varying(100) NOT NULL,
    danger character varying(12) NOT NULL,
    reason text NOT NULL,
    source character varying(10) NOT NULL,
    enabled boolean NOT NULL,
    CONSTRAINT dangerous_class_known CHECK (((danger)::text = ANY ((ARRAY['write'::character varying, 'destructive'::character varying, 'dangerous'::character varying])::text[]))),
    CONSTRAINT dangerous_pattern_not_blank CHECK ((NOT ((pattern)::text ~ '^\s*$'::text)))
);
ALTER TABLE public.tools_dangerousoperation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_dangerousoperation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_membership (
    id bigint NOT NULL,
    role character varying(10) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    user_id integer NOT NULL,
    team_id bigint NOT NULL,
    CONSTRAINT membership_role_known CHECK (((role)::text = ANY ((ARRAY['member'::character varying, 'admin'::character varying])::text[])))
);
ALTER TABLE public.tools_membership ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_membership_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_server (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    transport character varying(10) NOT NULL,
    command text NOT NULL,
    args jsonb NOT NULL,
    env_sealed text NOT NULL,
    cwd text NOT NULL,
    url text NOT NULL,
    url_sealed text NOT NULL,
    headers_sealed text NOT NULL,
    private_network boolean NOT NULL,
    session character varying(10) NOT NULL,
    idle_stop_s double precision,
    "authorization" character varying(15) NOT NULL,
    oauth_client_id text NOT NULL,
    oauth_client_secret_sealed text NOT NULL,
    oauth_scopes text NOT NULL,
    extra jsonb NOT NULL,
    source text NOT NULL,
    description text NOT NULL,
    instructions text NOT NULL,
    enabled boolean NOT NULL,
    trusted boolean NOT NULL,
    unprefixed boolean NOT NULL,
    price_per_call numeric(12,6),
    connect_timeout_s double precision,
    call_timeout_s double precision,
    protocol_version character varying(20) NOT NULL,
    capabilities jsonb,
    discovered_at timestamp with time zone,
    last_connected_at timestamp with time zone,
    last_error text NOT NULL,
    last_error_at timestamp with time zone,
    last_output jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    team_id bigint,
    pinned_instructions text DEFAULT ''::text NOT NULL,
    exclude_tools jsonb DEFAULT '[]'::jsonb NOT NULL,
    include_tools jsonb,
    CONSTRAINT server_choices_known CHECK ((((session)::text = ANY ((ARRAY['shared'::character varying, 'per_caller'::character varying])::text[])) AND (("authorization")::text = ANY ((ARRAY['none'::character varying, 'oauth'::character varying, 'oauth_per_user'::character varying])::text[])))),
    CONSTRAINT server_name_usable CHECK ((((name)::text ~ '^[^:\x01-\x1f\x7f]+$'::text) AND (NOT ((name)::text ~ '^\s|\s$'::text)))),
    CONSTRAINT server_price_not_negative CHECK (((price_per_call IS NULL) OR (price_per_call >= (0)::numeric))),
    CONSTRAINT server_reachable CHECK (((((transport)::text = 'stdio'::text) AND (url = ''::text) AND (NOT (command = ''::text))) OR ((command = ''::text) AND ((transport)::text = ANY ((ARRAY['http'::character varying, 'sse'::character varying])::text[])) AND (NOT (url = ''::text))))),
    CONSTRAINT server_timeouts_positive CHECK ((((connect_timeout_s IS NULL) OR (connect_timeout_s > (0.0)::double precision)) AND ((call_timeout_s IS NULL) OR (call_timeout_s > (0.0)::double precision)) AND ((idle_stop_s IS NULL) OR (idle_stop_s >= (0.0)::double precision))))
);
ALTER TABLE public.tools_server ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_server_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_serverdiscovery (
    id bigint NOT NULL,
    server_updated_at timestamp with time zone,
    requested_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    failures integer NOT NULL,
    failing_since timestamp with time zone,
    retry_at timestamp with time zone,
    error_code character varying(50) NOT NULL,
    server_id bigint NOT NULL,
    CONSTRAINT tools_serverdiscovery_failures_check CHECK ((failures >= 0))
);
ALTER TABLE public.tools_serverdiscovery ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_serverdiscovery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_serveritems (
    id bigint NOT NULL,
    kind character varying(10) NOT NULL,
    items jsonb NOT NULL,
    launch_hash character varying(64) NOT NULL,
    listed_at timestamp with time zone NOT NULL,
    server_id bigint NOT NULL,
    CONSTRAINT server_items_kind_known CHECK (((kind)::text = ANY ((ARRAY['resources'::character varying, 'templates'::character varying, 'prompts'::character varying])::text[])))
);
ALTER TABLE public.tools_serveritems ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_serveritems_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_serversignin (
    id bigint NOT NULL,
    issuer text NOT NULL,
    resource text NOT NULL,
    sealed text NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    server_id bigint NOT NULL,
    user_id integer
);
ALTER TABLE public.tools_serversignin ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_serversignin_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_signinattempt (
    id bigint NOT NULL,
    state_digest character varying(64) NOT NULL,
    sealed text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    server_id bigint NOT NULL,
    user_id integer
);
ALTER TABLE public.tools_signinattempt ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_signinattempt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_team (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    approve_from character varying(12) NOT NULL,
    requires_second_person boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    person_id integer,
    CONSTRAINT team_approval_known CHECK (((approve_from)::text = ANY ((ARRAY['dangerous'::character varying, 'destructive'::character varying, 'write'::character varying, 'read'::character varying])::text[])))
);
ALTER TABLE public.tools_team ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_team_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_tool (
    id bigint NOT NULL,
    name text NOT NULL,
    state character varying(12) NOT NULL,
    enabled boolean NOT NULL,
    pinned boolean NOT NULL,
    danger_override character varying(12) NOT NULL,
    approval character varying(6) NOT NULL,
    repeatable_override boolean,
    ignored_places jsonb NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    category_id bigint,
    server_id bigint NOT NULL,
    definition_id bigint,
    listed_id bigint,
    CONSTRAINT tool_active_is_defined CHECK (((NOT ((state)::text = 'active'::text)) OR (definition_id IS NOT NULL))),
    CONSTRAINT tool_approval_known CHECK (((approval)::text = ANY ((ARRAY[''::character varying, 'always'::character varying, 'never'::character varying])::text[]))),
    CONSTRAINT tool_danger_known CHECK (((danger_override)::text = ANY ((ARRAY[''::character varying, 'read'::character varying, 'write'::character varying, 'destructive'::character varying, 'dangerous'::character varying])::text[]))),
    CONSTRAINT tool_named CHECK ((NOT (name = ''::text))),
    CONSTRAINT tool_state_known CHECK (((state)::text = ANY ((ARRAY['active'::character varying, 'pending'::character varying, 'quarantined'::character varying, 'removed'::character varying])::text[])))
);
ALTER TABLE public.tools_tool ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_tool_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_tooldefinition (
    id bigint NOT NULL,
    hash character varying(64) NOT NULL,
    launch_hash character varying(64) NOT NULL,
    text_hash character varying(64) NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    input_schema jsonb NOT NULL,
    output_schema jsonb,
    annotations jsonb NOT NULL,
    token_count integer NOT NULL,
    findings jsonb NOT NULL,
    listed_at timestamp with time zone NOT NULL,
    approved_at timestamp with time zone,
    approved_by_id integer,
    tool_id bigint NOT NULL,
    CONSTRAINT tools_tooldefinition_token_count_check CHECK ((token_count >= 0))
);
ALTER TABLE public.tools_tooldefinition ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_tooldefinition_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_toolembedding (
    id bigint NOT NULL,
    model character varying(200) NOT NULL,
    content_hash character varying(64) NOT NULL,
    dimensions smallint NOT NULL,
    vector public.vector NOT NULL,
    created_at timestamp with time zone NOT NULL,
    tool_id bigint NOT NULL,
    CONSTRAINT tools_toolembedding_dimensions_check CHECK ((dimensions >= 0))
);
ALTER TABLE public.tools_toolembedding ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_toolembedding_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_toolgroup (
    id bigint NOT NULL,
    name character varying(64) NOT NULL,
    description character varying(500) NOT NULL,
    servers text[] NOT NULL,
    categories text[] NOT NULL,
    tools text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    team_id bigint,
    CONSTRAINT tool_group_name_fits_address CHECK (((name)::text ~ '^[a-z0-9][a-z0-9_-]{0,63}$'::text))
);
ALTER TABLE public.tools_toolgroup ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_toolgroup_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_toolposting (
    id bigint NOT NULL,
    lexeme text NOT NULL,
    frequency double precision NOT NULL,
    in_name boolean NOT NULL,
    tool_id bigint NOT NULL
);
ALTER TABLE public.tools_toolposting ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_toolposting_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_tooltext (
    tool_id bigint NOT NULL,
    content_hash character varying(32) NOT NULL,
    length double precision NOT NULL
);
INSERT INTO public.auth_group VALUES
	(1, 'viewer'),
	(2, 'operator'),
	(3, 'curator'),
	(4, 'admin');
INSERT INTO public.auth_group_permissions VALUES
	(1, 1, 4),
	(2, 1, 8),
	(3, 1, 136),
	(4, 1, 12),
	(5, 1, 76),
	(6, 1, 16),
	(7, 1, 144),
	(8, 1, 116),
	(9, 1, 88),
	(10, 2, 4),
	(11, 2, 8),
	(12, 2, 136),
	(13, 2, 12),
	(14, 2, 76),
	(15, 2, 16),
	(16, 2, 144),
	(17, 2, 116),
	(18, 2, 88),
	(19, 3, 4),
	(20, 3, 8),
	(21, 3, 136),
	(22, 3, 10),
	(23, 3, 73),
	(24, 3, 12),
	(25, 3, 76),
	(26, 3, 13),
	(27, 3, 14),
	(28, 3, 16),
	(29, 3, 144),
	(30, 3, 15),
	(31, 3, 74),
	(32, 3, 116),
	(33, 3, 87),
	(34, 3, 88),
	(35, 4, 4),
	(36, 4, 8),
	(37, 4, 136),
	(38, 4, 10),
	(39, 4, 12),
	(40, 4, 13),
	(41, 4, 14),
	(42, 4, 15),
	(43, 4, 16),
	(44, 4, 144),
	(45, 4, 146),
	(46, 4, 148),
	(47, 4, 153),
	(48, 4, 154),
	(49, 4, 155),
	(50, 4, 156),
	(51, 4, 73),
	(52, 4, 74),
	(53, 4, 76),
	(54, 4, 87),
	(55, 4, 88),
	(56, 4, 110),
	(57, 4, 112),
	(58, 4, 116);
INSERT INTO public.auth_permission VALUES
	(1, 'Can add category', 1, 'add_category'),
	(2, 'Can change category', 1, 'change_category'),
	(3, 'Can delete category', 1, 'delete_category'),
	(4, 'Can view category', 1, 'view_category'),
	(5, 'Can add server', 2, 'add_server'),
	(6, 'Can change server', 2, 'change_server'),
	(7, 'Can delete server', 2, 'delete_server'),
	(8, 'Can view server', 2, 'view_server'),
	(9, 'Can add tool', 3, 'add_tool'),
	(10, 'Can change tool', 3, 'change_tool'),
	(11, 'Can delete tool', 3, 'delete_tool'),
	(12, 'Can view tool', 3, 'view_tool'),
	(13, 'Can add dangerous operation', 4, 'add_dangerousoperation'),
	(14, 'Can change dangerous operation', 4, 'change_dangerousoperation'),
	(15, 'Can delete dangerous operation', 4, 'delete_dangerousoperation'),
	(16, 'Can view dangerous operation', 4, 'view_dangerousoperation'),
	(17, 'Can add server discovery', 5, 'add_serverdiscovery'),
	(18, 'Can change server discovery', 5, 'change_serverdiscovery'),
	(19, 'Can delete server discovery', 5, 'delete_serverdiscovery'),
	(20, 'Can view server discovery', 5, 'view_serverdiscovery'),
	(21, 'Can add sign in attempt', 6, 'add_signinattempt'),
	(22, 'Can change sign in attempt', 6, 'change_signinattempt'),
	(23, 'Can delete sign in attempt', 6, 'delete_signinattempt'),
	(24, 'Can view sign in attempt', 6, 'view_signinattempt'),
	(25, 'Can add team', 7, 'add_team'),
	(26, 'Can change team', 7, 'change_team'),
	(27, 'Can delete team', 7, 'delete_team'),
	(28, 'Can view team', 7, 'view_team'),
	(29, 'Can add membership', 8, 'add_membership'),
	(30, 'Can change membership', 8, 'change_membership'),
	(31, 'Can delete membership', 8, 'delete_membership'),
	(32, 'Can view membership', 8, 'view_membership'),
	(33, 'Can add tool text', 9, 'add_tooltext'),
	(34, 'Can change tool text', 9, 'change_tooltext'),
	(35, 'Can delete tool text', 9, 'delete_tooltext'),
	(36, 'Can view tool text', 9, 'view_tooltext'),
	(37, 'Can add tool definition', 10, 'add_tooldefinition'),
	(38, 'Can change tool definition', 10, 'change_tooldefinition'),
	(39, 'Can delete tool definition', 10, 'delete_tooldefinition'),
	(40, 'Can view tool definition', 10, 'view_tooldefinition'),
	(41, 'Can add tool embedding', 11, 'add_toolembedding'),
	(42, 'Can change tool embedding', 11, 'change_toolembedding'),
	(43, 'Can delete tool embedding', 11, 'delete_toolembedding'),
	(44, 'Can view tool embedding', 11, 'view_toolembedding'),
	(45, 'Can add tool group', 12, 'add_toolgroup'),
	(46, 'Can change tool group', 12, 'change_toolgroup'),
	(47, 'Can delete tool group', 12, 'delete_toolgroup'),
	(48, 'Can view tool group', 12, 'view_toolgroup'),
	(49, 'Can add tool posting', 13, 'add_toolposting'),
	(50, 'Can change tool posting', 13, 'change_toolposting'),
	(51, 'Can delete tool posting', 13, 'delete_toolposting'),
	(52, 'Can view tool posting', 13, 'view_toolposting'),
	(53, 'Can add server items', 14, 'add_serveritems'),
	(54, 'Can change server items', 14, 'change_serveritems'),
	(55, 'Can delete server items', 14, 'delete_serveritems'),
	(56, 'Can view server items', 14, 'view_serveritems'),
	(57, 'Can add server sign in', 15, 'add_serversignin'),
	(58, 'Can change server sign in', 15, 'change_serversignin'),
	(59, 'Can delete server sign in', 15, 'delete_serversignin'),
	(60, 'Can view server sign in', 15, 'view_serversignin'),
	(61, 'Can add graph snapshot', 16, 'add_graphsnapshot'),
	(62, 'Can change graph snapshot', 16, 'change_graphsnapshot'),
	(63, 'Can delete graph snapshot', 16, 'delete_graphsnapshot'),
	(64, 'Can view graph snapshot', 16, 'view_graphsnapshot'),
	(65, 'Can add tool metric', 17, 'add_toolmetric'),
	(66, 'Can change tool metric', 17, 'change_toolmetric'),
	(67, 'Can delete tool metric', 17, 'delete_toolmetric'),
	(68, 'Can view tool metric', 17, 'view_toolmetric'),
	(69, 'Can add graph state', 18, 'add_graphstate'),
	(70, 'Can change graph state', 18, 'change_graphstate'),
	(71, 'Can delete graph state', 18, 'delete_graphstate'),
	(72, 'Can view graph state', 18, 'view_graphstate'),
	(73, 'Can add relation', 19, 'add_tooldependency'),
	(74, 'Can change relation', 19, 'change_tooldependency'),
	(75, 'Can delete relation', 19, 'delete_tooldependency'),
	(76, 'Can view relation', 19, 'view_tooldependency'),
	(77, 'Can add relation evidence', 20, 'add_relationevidence'),
	(78, 'Can change relation evidence', 20, 'change_relationevidence'),
	(79, 'Can delete relation evidence', 20, 'delete_relationevidence'),
	(80, 'Can view relation evidence', 20, 'view_relationevidence'),
	(81, 'Can add tool usage', 21, 'add_toolusage'),
	(82, 'Can change tool usage', 21, 'change_toolusage'),
	(83, 'Can delete tool usage', 21, 'delete_toolusage'),
	(84, 'Can view tool usage', 21, 'view_toolusage'),
	(85, 'Can add workflow pattern', 22, 'add_workflowpattern'),
	(86, 'Can change workflow pattern', 22, 'change_workflowpattern'),
	(87, 'Can delete workflow pattern', 22, 'delete_workflowpattern'),
	(88, 'Can view workflow pattern', 22, 'view_workflowpattern'),
	(89, 'Can add recorded run', 23, 'add_patternrun'),
	(90, 'Can change recorded run', 23, 'change_patternrun'),
	(91, 'Can delete recorded run', 23, 'delete_patternrun'),
	(92, 'Can view recorded run', 23, 'view_patternrun'),
	(93, 'Can add pattern embedding', 24, 'add_patternembedding'),
	(94, 'Can change pattern embedding', 24, 'change_patternembedding'),
	(95, 'Can delete pattern embedding', 24, 'delete_patternembedding'),
	(96, 'Can view pattern embedding', 24, 'view_patternembedding'),
	(97, 'Can add fitted model', 25, 'add_fittedmodel'),
	(98, 'Can change fitted model', 25, 'change_fittedmodel'),
	(99, 'Can delete fitted model', 25, 'delete_fittedmodel'),
	(100, 'Can view fitted model', 25, 'view_fittedmodel');
INSERT INTO public.auth_permission VALUES
	(101, 'Can add learned binding', 26, 'add_learnedbinding'),
	(102, 'Can change learned binding', 26, 'change_learnedbinding'),
	(103, 'Can delete learned binding', 26, 'delete_learnedbinding'),
	(104, 'Can view learned binding', 26, 'view_learnedbinding'),
	(105, 'Can add output shape', 27, 'add_outputshape'),
	(106, 'Can change output shape', 27, 'change_outputshape'),
	(107, 'Can delete output shape', 27, 'delete_outputshape'),
	(108, 'Can view output shape', 27, 'view_outputshape'),
	(109, 'Can add speculation switch', 28, 'add_speculationcontrol'),
	(110, 'Can change speculation switch', 28, 'change_speculationcontrol'),
	(111, 'Can delete speculation switch', 28, 'delete_speculationcontrol'),
	(112, 'Can view speculation switch', 28, 'view_speculationcontrol'),
	(113, 'Can add run', 29, 'add_workflowexecution'),
	(114, 'Can change run', 29, 'change_workflowexecution'),
	(115, 'Can delete run', 29, 'delete_workflowexecution'),
	(116, 'Can view run', 29, 'view_workflowexecution'),
	(117, 'Can add run task', 30, 'add_taskrun'),
	(118, 'Can change run task', 30, 'change_taskrun'),
	(119, 'Can delete run task', 30, 'delete_taskrun'),
	(120, 'Can view run task', 30, 'view_taskrun'),
	(121, 'Can add run command', 31, 'add_runcommand'),
	(122, 'Can change run command', 31, 'change_runcommand'),
	(123, 'Can delete run command', 31, 'delete_runcommand'),
	(124, 'Can view run command', 31, 'view_runcommand'),
	(125, 'Can add payload', 32, 'add_payload'),
	(126, 'Can change payload', 32, 'change_payload'),
	(127, 'Can delete payload', 32, 'delete_payload'),
	(128, 'Can view payload', 32, 'view_payload'),
	(129, 'Can add run event', 33, 'add_executionevent'),
	(130, 'Can change run event', 33, 'change_executionevent'),
	(131, 'Can delete run event', 33, 'delete_executionevent'),
	(132, 'Can view run event', 33, 'view_executionevent'),
	(133, 'Can add approval', 34, 'add_approval'),
	(134, 'Can change approval', 34, 'change_approval'),
	(135, 'Can delete approval', 34, 'delete_approval'),
	(136, 'Can view approval', 34, 'view_approval'),
	(137, 'Can add reserved money', 35, 'add_budgetreservation'),
	(138, 'Can change reserved money', 35, 'change_budgetreservation'),
	(139, 'Can delete reserved money', 35, 'delete_budgetreservation'),
	(140, 'Can view reserved money', 35, 'view_budgetreservation'),
	(141, 'Can add speculation', 36, 'add_speculation'),
	(142, 'Can change speculation', 36, 'change_speculation'),
	(143, 'Can delete speculation', 36, 'delete_speculation'),
	(144, 'Can view speculation', 36, 'view_speculation'),
	(145, 'Can add comparison of results', 37, 'add_speculationagreement'),
	(146, 'Can change comparison of results', 37, 'change_speculationagreement'),
	(147, 'Can delete comparison of results', 37, 'delete_speculationagreement'),
	(148, 'Can view comparison of results', 37, 'view_speculationagreement'),
	(149, 'Can add speculation budget', 38, 'add_speculationbudget'),
	(150, 'Can change speculation budget', 38, 'change_speculationbudget'),
	(151, 'Can delete speculation budget', 38, 'delete_speculationbudget'),
	(152, 'Can view speculation budget', 38, 'view_speculationbudget'),
	(153, 'Can add speculation grant', 39, 'add_speculationgrant'),
	(154, 'Can change speculation grant', 39, 'change_speculationgrant'),
	(155, 'Can delete speculation grant', 39, 'delete_speculationgrant'),
	(156, 'Can view speculation grant', 39, 'view_speculationgrant'),
	(157, 'Can add spool file', 40, 'add_eventspool'),
	(158, 'Can change spool file', 40, 'change_eventspool'),
	(159, 'Can delete spool file', 40, 'delete_eventspool'),
	(160, 'Can view spool file', 40, 'view_eventspool'),
	(161, 'Can add adaptive threshold', 41, 'add_adaptivethreshold'),
	(162, 'Can change adaptive threshold', 41, 'change_adaptivethreshold'),
	(163, 'Can delete adaptive threshold', 41, 'delete_adaptivethreshold'),
	(164, 'Can view adaptive threshold', 41, 'view_adaptivethreshold'),
	(165, 'Can add contribution', 42, 'add_contribution'),
	(166, 'Can change contribution', 42, 'change_contribution'),
	(167, 'Can delete contribution', 42, 'delete_contribution'),
	(168, 'Can view contribution', 42, 'view_contribution'),
	(169, 'Can add event', 43, 'add_episodicevent'),
	(170, 'Can change event', 43, 'change_episodicevent'),
	(171, 'Can delete event', 43, 'delete_episodicevent'),
	(172, 'Can view event', 43, 'view_episodicevent'),
	(173, 'Can add vector of an intent', 44, 'add_intentvector'),
	(174, 'Can change vector of an intent', 44, 'change_intentvector'),
	(175, 'Can delete vector of an intent', 44, 'delete_intentvector'),
	(176, 'Can view vector of an intent', 44, 'view_intentvector'),
	(177, 'Can add prediction total', 45, 'add_predictiontotal'),
	(178, 'Can change prediction total', 45, 'change_predictiontotal'),
	(179, 'Can delete prediction total', 45, 'delete_predictiontotal'),
	(180, 'Can view prediction total', 45, 'view_predictiontotal'),
	(181, 'Can add threshold change', 46, 'add_thresholdchange'),
	(182, 'Can change threshold change', 46, 'change_thresholdchange'),
	(183, 'Can delete threshold change', 46, 'delete_thresholdchange'),
	(184, 'Can view threshold change', 46, 'view_thresholdchange'),
	(185, 'Can add tool experience', 47, 'add_toolexperience'),
	(186, 'Can change tool experience', 47, 'change_toolexperience'),
	(187, 'Can delete tool experience', 47, 'delete_toolexperience'),
	(188, 'Can view tool experience', 47, 'view_toolexperience'),
	(189, 'Can add unlearned episode', 48, 'add_unlearnedepisode'),
	(190, 'Can change unlearned episode', 48, 'change_unlearnedepisode'),
	(191, 'Can delete unlearned episode', 48, 'delete_unlearnedepisode'),
	(192, 'Can view unlearned episode', 48, 'view_unlearnedepisode'),
	(193, 'Can add log entry', 49, 'add_logentry'),
	(194, 'Can change log entry', 49, 'change_logentry'),
	(195, 'Can delete log entry', 49, 'delete_logentry'),
	(196, 'Can view log entry', 49, 'view_logentry'),
	(197, 'Can add permission', 50, 'add_permission'),
	(198, 'Can change permission', 50, 'change_permission'),
	(199, 'Can delete permission', 50, 'delete_permission'),
	(200, 'Can view permission', 50, 'view_permission');
INSERT INTO public.auth_permission VALUES
	(201, 'Can add group', 51, 'add_group'),
	(202, 'Can change group', 51, 'change_group'),
	(203, 'Can delete group', 51, 'delete_group'),
	(204, 'Can view group', 51, 'view_group'),
	(205, 'Can add user', 52, 'add_user'),
	(206, 'Can change user', 52, 'change_user'),
	(207, 'Can delete user', 52, 'delete_user'),
	(208, 'Can view user', 52, 'view_user'),
	(209, 'Can add content type', 53, 'add_contenttype'),
	(210, 'Can change content type', 53, 'change_contenttype'),
	(211, 'Can delete content type', 53, 'delete_contenttype'),
	(212, 'Can view content type', 53, 'view_contenttype'),
	(213, 'Can add session', 54, 'add_session'),
	(214, 'Can change session', 54, 'change_session'),
	(215, 'Can delete session', 54, 'delete_session'),
	(216, 'Can view session', 54, 'view_session'),
	(217, 'Can add email address', 55, 'add_emailaddress'),
	(218, 'Can change email address', 55, 'change_emailaddress'),
	(219, 'Can delete email address', 55, 'delete_emailaddress'),
	(220, 'Can view email address', 55, 'view_emailaddress'),
	(221, 'Can add email confirmation', 56, 'add_emailconfirmation'),
	(222, 'Can change email confirmation', 56, 'change_emailconfirmation'),
	(223, 'Can delete email confirmation', 56, 'delete_emailconfirmation'),
	(224, 'Can view email confirmation', 56, 'view_emailconfirmation'),
	(225, 'Can add authenticator', 57, 'add_authenticator'),
	(226, 'Can change authenticator', 57, 'change_authenticator'),
	(227, 'Can delete authenticator', 57, 'delete_authenticator'),
	(228, 'Can view authenticator', 57, 'view_authenticator'),
	(229, 'Can add social account', 58, 'add_socialaccount'),
	(230, 'Can change social account', 58, 'change_socialaccount'),
	(231, 'Can delete social account', 58, 'delete_socialaccount'),
	(232, 'Can view social account', 58, 'view_socialaccount'),
	(233, 'Can add social application', 59, 'add_socialapp'),
	(234, 'Can change social application', 59, 'change_socialapp'),
	(235, 'Can delete social application', 59, 'delete_socialapp'),
	(236, 'Can view social application', 59, 'view_socialapp'),
	(237, 'Can add social application token', 60, 'add_socialtoken'),
	(238, 'Can change social application token', 60, 'change_socialtoken'),
	(239, 'Can delete social application token', 60, 'delete_socialtoken'),
	(240, 'Can view social application token', 60, 'view_socialtoken'),
	(241, 'Can add access attempt', 61, 'add_accessattempt'),
	(242, 'Can change access attempt', 61, 'change_accessattempt'),
	(243, 'Can delete access attempt', 61, 'delete_accessattempt'),
	(244, 'Can view access attempt', 61, 'view_accessattempt'),
	(245, 'Can add access log', 62, 'add_accesslog'),
	(246, 'Can change access log', 62, 'change_accesslog'),
	(247, 'Can delete access log', 62, 'delete_accesslog'),
	(248, 'Can view access log', 62, 'view_accesslog'),
	(249, 'Can add access failure', 63, 'add_accessfailurelog'),
	(250, 'Can change access failure', 63, 'change_accessfailurelog'),
	(251, 'Can delete access failure', 63, 'delete_accessfailurelog'),
	(252, 'Can view access failure', 63, 'view_accessfailurelog'),
	(253, 'Can add access attempt expiration', 64, 'add_accessattemptexpiration'),
	(254, 'Can change access attempt expiration', 64, 'change_accessattemptexpiration'),
	(255, 'Can delete access attempt expiration', 64, 'delete_accessattemptexpiration'),
	(256, 'Can view access attempt expiration', 64, 'view_accessattemptexpiration'),
	(257, 'Can add access token', 65, 'add_accesstoken'),
	(258, 'Can change access token', 65, 'change_accesstoken'),
	(259, 'Can delete access token', 65, 'delete_accesstoken'),
	(260, 'Can view access token', 65, 'view_accesstoken'),
	(261, 'Can add grant', 66, 'add_grant'),
	(262, 'Can change grant', 66, 'change_grant'),
	(263, 'Can delete grant', 66, 'delete_grant'),
	(264, 'Can view grant', 66, 'view_grant'),
	(265, 'Can add refresh token', 67, 'add_refreshtoken'),
	(266, 'Can change refresh token', 67, 'change_refreshtoken'),
	(267, 'Can delete refresh token', 67, 'delete_refreshtoken'),
	(268, 'Can view refresh token', 67, 'view_refreshtoken'),
	(269, 'Can add id token', 68, 'add_idtoken'),
	(270, 'Can change id token', 68, 'change_idtoken'),
	(271, 'Can delete id token', 68, 'delete_idtoken'),
	(272, 'Can view id token', 68, 'view_idtoken'),
	(273, 'Can add device grant', 69, 'add_devicegrant'),
	(274, 'Can change device grant', 69, 'change_devicegrant'),
	(275, 'Can delete device grant', 69, 'delete_devicegrant'),
	(276, 'Can view device grant', 69, 'view_devicegrant'),
	(277, 'Can add OAuth client', 70, 'add_oauthclient'),
	(278, 'Can change OAuth client', 70, 'change_oauthclient'),
	(279, 'Can delete OAuth client', 70, 'delete_oauthclient'),
	(280, 'Can view OAuth client', 70, 'view_oauthclient'),
	(281, 'Can add idempotent request', 71, 'add_idempotentrequest'),
	(282, 'Can change idempotent request', 71, 'change_idempotentrequest'),
	(283, 'Can delete idempotent request', 71, 'delete_idempotentrequest'),
	(284, 'Can view idempotent request', 71, 'view_idempotentrequest'),
	(285, 'Can add retired user name', 72, 'add_retiredusername'),
	(286, 'Can change retired user name', 72, 'change_retiredusername'),
	(287, 'Can delete retired user name', 72, 'delete_retiredusername'),
	(288, 'Can view retired user name', 72, 'view_retiredusername'),
	(289, 'Can add metric total', 73, 'add_metrictotal'),
	(290, 'Can change metric total', 73, 'change_metrictotal'),
	(291, 'Can delete metric total', 73, 'delete_metrictotal'),
	(292, 'Can view metric total', 73, 'view_metrictotal'),
	(293, 'Can add one time password', 74, 'add_onetimepassword'),
	(294, 'Can change one time password', 74, 'change_onetimepassword'),
	(295, 'Can delete one time password', 74, 'delete_onetimepassword'),
	(296, 'Can view one time password', 74, 'view_onetimepassword'),
	(297, 'Can add webhook', 75, 'add_webhook'),
	(298, 'Can change webhook', 75, 'change_webhook'),
	(299, 'Can delete webhook', 75, 'delete_webhook'),
	(300, 'Can view webhook', 75, 'view_webhook');
INSERT INTO public.auth_permission VALUES
	(301, 'Can add webhook delivery', 76, 'add_webhookdelivery'),
	(302, 'Can change webhook delivery', 76, 'change_webhookdelivery'),
	(303, 'Can delete webhook delivery', 76, 'delete_webhookdelivery'),
	(304, 'Can view webhook delivery', 76, 'view_webhookdelivery'),
	(305, 'Can add api token', 77, 'add_apitoken'),
	(306, 'Can change api token', 77, 'change_apitoken'),
	(307, 'Can delete api token', 77, 'delete_apitoken'),
	(308, 'Can view api token', 77, 'view_apitoken'),
	(309, 'Can add audit entry', 78, 'add_auditentry'),
	(310, 'Can change audit entry', 78, 'change_auditentry'),
	(311, 'Can delete audit entry', 78, 'delete_auditentry'),
	(312, 'Can view audit entry', 78, 'view_auditentry');
INSERT INTO public.auth_user VALUES
	(1, '!OLFY55n9XC9fZ2RB8XPPeoc9N3dNncuEwt3aBTJu', NULL, true, 'admin', '', '', '', true, true, '2026-11-29 11:29:29.886924+00');
INSERT INTO public.django_content_type VALUES
	(1, 'tools', 'category'),
	(2, 'tools', 'server'),
	(3, 'tools', 'tool'),
	(4, 'tools', 'dangerousoperation'),
	(5, 'tools', 'serverdiscovery'),
	(6, 'tools', 'signinattempt'),
	(7, 'tools', 'team'),
	(8, 'tools', 'membership'),
	(9, 'tools', 'tooltext'),
	(10, 'tools', 'tooldefinition'),
	(11, 'tools', 'toolembedding'),
	(12, 'tools', 'toolgroup'),
	(13, 'tools', 'toolposting'),
	(14, 'tools', 'serveritems'),
	(15, 'tools', 'serversignin'),
	(16, 'graph', 'graphsnapshot'),
	(17, 'graph', 'toolmetric'),
	(18, 'graph', 'graphstate'),
	(19, 'graph', 'tooldependency'),
	(20, 'graph', 'relationevidence'),
	(21, 'graph', 'toolusage'),
	(22, 'graph', 'workflowpattern'),
	(23, 'graph', 'patternrun'),
	(24, 'graph', 'patternembedding'),
	(25, 'graph', 'fittedmodel'),
	(26, 'graph', 'learnedbinding'),
	(27, 'graph', 'outputshape'),
	(28, 'execution', 'speculationcontrol'),
	(29, 'execution', 'workflowexecution'),
	(30, 'execution', 'taskrun'),
	(31, 'execution', 'runcommand'),
	(32, 'execution', 'payload'),
	(33, 'execution', 'executionevent'),
	(34, 'execution', 'approval'),
	(35, 'execution', 'budgetreservation'),
	(36, 'execution', 'speculation'),
	(37, 'execution', 'speculationagreement'),
	(38, 'execution', 'speculationbudget'),
	(39, 'execution', 'speculationgrant'),
	(40, 'learning', 'eventspool'),
	(41, 'learning', 'adaptivethreshold'),
	(42, 'learning', 'contribution'),
	(43, 'learning', 'episodicevent'),
	(44, 'learning', 'intentvector'),
	(45, 'learning', 'predictiontotal'),
	(46, 'learning', 'thresholdchange'),
	(47, 'learning', 'toolexperience'),
	(48, 'learning', 'unlearnedepisode'),
	(49, 'admin', 'logentry'),
	(50, 'auth', 'permission'),
	(51, 'auth', 'group'),
	(52, 'auth', 'user'),
	(53, 'contenttypes', 'contenttype'),
	(54, 'sessions', 'session'),
	(55, 'account', 'emailaddress'),
	(56, 'account', 'emailconfirmation'),
	(57, 'mfa', 'authenticator'),
	(58, 'socialaccount', 'socialaccount'),
	(59, 'socialaccount', 'socialapp'),
	(60, 'socialaccount', 'socialtoken'),
	(61, 'axes', 'accessattempt'),
	(62, 'axes', 'accesslog'),
	(63, 'axes', 'accessfailurelog'),
	(64, 'axes', 'accessattemptexpiration'),
	(65, 'oauth2_provider', 'accesstoken'),
	(66, 'oauth2_provider', 'grant'),
	(67, 'oauth2_provider', 'refreshtoken'),
	(68, 'oauth2_provider', 'idtoken'),
	(69, 'oauth2_provider', 'devicegrant'),
	(70, 'gateway_project', 'oauthclient'),
	(71, 'gateway_project', 'idempotentrequest'),
	(72, 'gateway_project', 'retiredusername'),
	(73, 'gateway_project', 'metrictotal'),
	(74, 'gateway_project', 'onetimepassword'),
	(75, 'gateway_project', 'webhook'),
	(76, 'gateway_project', 'webhookdelivery'),
	(77, 'gateway_project', 'apitoken'),
	(78, 'gateway_project', 'auditentry');
INSERT INTO public.django_migrations VALUES
	(1, 'contenttypes', '0001_initial', '2026-11-29 11:29:17.132586+00'),
	(2, 'auth', '0001_initial', '2026-11-29 11:29:17.198127+00'),
	(3, 'account', '0001_initial', '2026-11-29 11:29:17.441401+00'),
	(4, 'account', '0002_email_max_length', '2026-11-29 11:29:17.477542+00'),
	(5, 'account', '0003_alter_emailaddress_create_unique_verified_email', '2026-11-29 11:29:17.482707+00'),
	(6, 'account', '0004_alter_emailaddress_drop_unique_email', '2026-11-29 11:29:17.503561+00'),
	(7, 'account', '0005_emailaddress_idx_upper_email', '2026-11-29 11:29:17.526622+00'),
	(8, 'account', '0006_emailaddress_lower', '2026-11-29 11:29:17.553644+00'),
	(9, 'account', '0007_emailaddress_idx_email', '2026-11-29 11:29:17.59653+00'),
	(10, 'account', '0008_emailaddress_unique_primary_email_fixup', '2026-11-29 11:29:17.64556+00'),
	(11, 'account', '0009_emailaddress_unique_primary_email', '2026-11-29 11:29:17.674741+00'),
	(12, 'admin', '0001_initial', '2026-11-29 11:29:17.746848+00'),
	(13, 'admin', '0002_logentry_remove_auto_add', '2026-11-29 11:29:17.776097+00'),
	(14, 'admin', '0003_logentry_add_action_flag_choices', '2026-11-29 11:29:17.793419+00'),
	(15, 'contenttypes', '0002_remove_content_type_name', '2026-11-29 11:29:17.836383+00'),
	(16, 'auth', '0002_alter_permission_name_max_length', '2026-11-29 11:29:17.84944+00'),
	(17, 'auth', '0003_alter_user_email_max_length', '2026-11-29 11:29:17.869864+00'),
	(18, 'auth', '0004_alter_user_username_opts', '2026-11-29 11:29:17.892885+00'),
	(19, 'auth', '0005_alter_user_last_login_null', '2026-11-29 11:29:17.933801+00'),
	(20, 'auth', '0006_require_contenttypes_0002', '2026-11-29 11:29:17.937027+00'),
	(21, 'auth', '0007_alter_validators_add_error_messages', '2026-11-29 11:29:17.960998+00'),
	(22, 'auth', '0008_alter_user_username_max_length', '2026-11-29 11:29:18.07839+00'),
	(23, 'auth', '0009_alter_user_last_name_max_length', '2026-11-29 11:29:18.107586+00'),
	(24, 'auth', '0010_alter_group_name_max_length', '2026-11-29 11:29:18.138852+00'),
	(25, 'auth', '0011_update_proxy_permissions', '2026-11-29 11:29:18.152192+00'),
	(26, 'auth', '0012_alter_user_first_name_max_length', '2026-11-29 11:29:18.165512+00'),
	(27, 'axes', '0001_initial', '2026-11-29 11:29:18.17508+00'),
	(28, 'axes', '0002_auto_20151217_2044', '2026-11-29 11:29:18.204798+00'),
	(29, 'axes', '0003_auto_20160322_0929', '2026-11-29 11:29:18.219432+00'),
	(30, 'axes', '0004_auto_20181024_1538', '2026-11-29 11:29:18.232499+00'),
	(31, 'axes', '0005_remove_accessattempt_trusted', '2026-11-29 11:29:18.235774+00'),
	(32, 'axes', '0006_remove_accesslog_trusted', '2026-11-29 11:29:18.238922+00'),
	(33, 'axes', '0007_alter_accessattempt_unique_together', '2026-11-29 11:29:18.253805+00'),
	(34, 'axes', '0008_accessfailurelog', '2026-11-29 11:29:18.262763+00'),
	(35, 'axes', '0009_add_session_hash', '2026-11-29 11:29:18.266569+00'),
	(36, 'axes', '0010_accessattemptexpiration', '2026-11-29 11:29:18.273597+00'),
	(37, 'socialaccount', '0001_initial', '2026-11-29 11:29:18.340697+00'),
	(38, 'socialaccount', '0002_token_max_lengths', '2026-11-29 11:29:18.368465+00'),
	(39, 'socialaccount', '0003_extra_data_default_dict', '2026-11-29 11:29:18.383113+00'),
	(40, 'socialaccount', '0004_app_provider_id_settings', '2026-11-29 11:29:18.411076+00'),
	(41, 'socialaccount', '0005_socialtoken_nullable_app', '2026-11-29 11:29:18.438607+00'),
	(42, 'socialaccount', '0006_alter_socialaccount_extra_data', '2026-11-29 11:29:18.461609+00'),
	(43, 'gateway_project', '0001_oauth_client', '2026-11-29 11:29:18.495542+00'),
	(44, 'oauth2_provider', '0001_initial', '2026-11-29 11:29:18.656746+00'),
	(45, 'oauth2_provider', '0002_auto_20190406_1805', '2026-11-29 11:29:18.709746+00'),
	(46, 'oauth2_provider', '0003_auto_20201211_1314', '2026-11-29 11:29:18.749376+00'),
	(47, 'oauth2_provider', '0004_auto_20200902_2022', '2026-11-29 11:29:19.02669+00'),
	(48, 'oauth2_provider', '0005_auto_20211222_2352', '2026-11-29 11:29:19.192998+00'),
	(49, 'oauth2_provider', '0006_alter_application_client_secret', '2026-11-29 11:29:19.251425+00'),
	(50, 'oauth2_provider', '0007_application_post_logout_redirect_uris', '2026-11-29 11:29:19.273865+00'),
	(51, 'oauth2_provider', '0008_alter_accesstoken_token', '2026-11-29 11:29:19.565251+00'),
	(52, 'oauth2_provider', '0009_add_hash_client_secret', '2026-11-29 11:29:19.612446+00'),
	(53, 'oauth2_provider', '0010_application_allowed_origins', '2026-11-29 11:29:19.656156+00'),
	(54, 'oauth2_provider', '0011_refreshtoken_token_family', '2026-11-29 11:29:19.702572+00'),
	(55, 'oauth2_provider', '0012_add_token_checksum', '2026-11-29 11:29:19.83736+00'),
	(56, 'oauth2_provider', '0013_alter_application_authorization_grant_type_device', '2026-11-29 11:29:20.026907+00'),
	(57, 'oauth2_provider', '0014_alter_help_text', '2026-11-29 11:29:20.086795+00'),
	(58, 'oauth2_provider', '0015_refreshtoken_token_checksum', '2026-11-29 11:29:20.296532+00'),
	(59, 'oauth2_provider', '0016_alter_devicegrant_scope', '2026-11-29 11:29:20.329185+00'),
	(60, 'oauth2_provider', '0017_application_dcr_created', '2026-11-29 11:29:20.354072+00'),
	(61, 'oauth2_provider', '0018_resource_indicators', '2026-11-29 11:29:20.423956+00'),
	(62, 'oauth2_provider', '0019_application_registration_source', '2026-11-29 11:29:20.496684+00'),
	(63, 'oauth2_provider', '0020_cimd_application_fields', '2026-11-29 11:29:20.539175+00'),
	(64, 'oauth2_provider', '0021_translatable_field_labels', '2026-11-29 11:29:23.062311+00'),
	(65, 'oauth2_provider', '0022_refreshtoken_token_family_index', '2026-11-29 11:29:23.100049+00'),
	(66, 'mfa', '0001_initial', '2026-11-29 11:29:23.17094+00'),
	(67, 'mfa', '0002_authenticator_timestamps', '2026-11-29 11:29:23.305796+00'),
	(68, 'mfa', '0003_authenticator_type_uniq', '2026-11-29 11:29:23.409437+00'),
	(69, 'tools', '0001_schema', '2026-11-29 11:29:23.675262+00'),
	(70, 'execution', '0001_schema', '2026-11-29 11:29:23.864132+00'),
	(71, 'learning', '0001_schema', '2026-11-29 11:29:24.025074+00'),
	(72, 'graph', '0001_schema', '2026-11-29 11:29:24.222923+00'),
	(73, 'gateway_project', '0002_schema', '2026-11-29 11:29:24.674986+00'),
	(74, 'sessions', '0001_initial', '2026-11-29 11:29:24.682987+00'),
	(75, 'tools', '0002_pinned_instructions_additive', '2026-11-29 11:29:24.729581+00'),
	(76, 'tools', '0003_server_tool_filter_additive', '2026-11-29 11:29:24.841427+00');
INSERT INTO public.execution_executionevent VALUES
	(1, 1, 'run_queued', '', -1, '2026-11-29 11:29:41.288116+00', '{}', 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf'),
	(2, 2, 'run_started', '', -1, '2026-11-29 11:29:41.273683+00', '{}', 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf'),
	(3, 3, 'task_started', 'count', -1, '2026-11-29 11:29:41.273683+00', '{}', 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf'),
	(4, 4, 'task_succeeded', 'count', -1, '2026-11-29 11:29:41.376075+00', '{"duration_ms": 71.7494110001553}', 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf'),
	(5, 5, 'task_started', 'look', -1, '2026-11-29 11:29:41.376107+00', '{}', 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf'),
	(6, 6, 'task_succeeded', 'look', -1, '2026-11-29 11:29:41.39116+00', '{"duration_ms": 6.464346000029764}', 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf'),
	(7, 7, 'run_ended', '', -1, '2026-11-29 11:29:41.391187+00', '{"status": "succeeded"}', 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf');
INSERT INTO public.execution_payload VALUES
	(1, 'workflow', '', 1, '\x80000000006b0c0ca5c43e2ddd79a533fa0b03bbf6bbaa9a77fd1d0f42cbdcd4df73661536c0d8f5b461dc4780706c8d86a90d36a1b219547082bf4090c30636802c237b5251bb3c0819bad5ae0da8d3bf56571c75b953bbc50700d8f8b1ee61cbfe669e8ef75ffc8659eaecad971cfdc34b517908113224a2b3b66c68b48851a0a58cb768a7226f76e554937c3483e13adf4837bcf6540e2272dc987cd030bc5b6d6bb25bdfecea4875baf2b0de7654e5f1df5d690e02f4be9139d7f565ff9b358ec7019b402c85110120a58555fc550888426e6f67f7803b90f963add1a4bf9f39cea5f6f9f50dff40a7caac9abf9bb88ff7c697a74d9ad2', 186, 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf'),
	(2, 'result', 'count', -1, '\x80000000006b0c0ca550a36599b313d9f2ca3ee97fa227f35ca455449e0f977673e350b8421355fe1d885a3a225c5b042de4d9edfd86dceb9a9ad78f74f6ea7fd1c70281393d05eb328e9f4da597fa6ec29cca637b1d48b2a48db20f82ad24bbf2c4403308017e3c636fd9a40f6be39fc1df133a03418f28b43fd48b19ceec294b99b2be0ac30f82027696d733af774a8d88ec1258c0f2fafe747f8d977133aa997b8d01c157329743276793751be6ccd548181236c2c15d6204eb31b17f00ae321db8e50035ecc28c4f87e80598798723f61d74aad170f64ee5895218da598f4fa75e655b6fa5efe2cb315ca58e753f4fd6468c9a2ed42c57fa9a240e3036c540b64b87ddfd58b46a', 194, 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf'),
	(3, 'result', 'look', -1, '\x80000000006b0c0ca5a96f7cabac3a39b2dbb337266962fd285aef5db5b58c1afa8487389c5bcdcbd8b5d425b56880f5afaaac34ddbf88120356a6c6dc75f0f541c3daf0e389dc19611054239cb1ea81d3824467f0b24456b439fc664c94f092eb6c4bde35a3cb7ade66e2e35fc812923afd55cb5facc128023fea72efccb94f4dddd85626fbeb1c0dee19497bfb94187581fecb60c3288e16bcb04e6ed4f347f2a86c61ba527b57d63f7dc139ccd0910ea625ae9b5d831efce7435ddf8009416ce4a08d78ef91aed12dece840cd0b3b36ef8ed0ed3bbab33b18ac6e8aa18d973c3e1cd98e6d96b7d62a3f738d2e3529822bdf211aab6730443954b2f902f9d5620748c4f4ab8e7e50', 194, 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf');
INSERT INTO public.execution_speculationcontrol VALUES
	(1, true, '', NULL);
INSERT INTO public.execution_taskrun VALUES
	(1, 'count', -1, 0, 'counting:count', 'succeeded', 1, '20ac7884d1e542118e739b50a9e73f474727655704d65f09f17b28e4d37e270c', '6ba69181b193012d1c32f58bcfd200188cd5691224b235fe98d6d64bad6d75c7', '2026-11-29 11:29:41.273683+00', '2026-11-29 11:29:41.376075+00', 71.7494110001553, '', 194, 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf'),
	(2, 'look', -1, 1, 'counting:look', 'succeeded', 1, '45f894ba102ff4e8d97d9102c25e59f5e09aa77aa0be9c4987011675b5427c78', '2377aeb202263c89d50a7d250e735519079e915f5a6dc70aae9b94d36a874b2e', '2026-11-29 11:29:41.376107+00', '2026-11-29 11:29:41.39116+00', 6.464346000029764, '', 194, 'e9e7ed90-a5af-47bf-94a8-1050ad533cbf');
INSERT INTO public.execution_workflowexecution VALUES
	('e9e7ed90-a5af-47bf-94a8-1050ad533cbf', 'admin', '', '["*"]', 'command', false, 'succeeded', '{"on_error": "stop", "deadline_s": null, "per_layer_validation": false}', 1, 2, '', '4db663d359ed56ecb7c61a3dd0ef879cfb5acf1c0cf7bbd143af193b7ff32f24', '', 1, NULL, 7, '', '2026-11-29 11:29:41.288116+00', '2026-11-29 11:29:41.288116+00', '2026-11-29 11:29:41.392926+00', '2026-11-29 11:29:41.392926+00', NULL, NULL, NULL, NULL);
INSERT INTO public.gateway_project_auditentry VALUES
	(1, '2026-11-29 11:29:29.926849+00', 'admin', 'command', 'server.registered', 'counting', '', '{"changed": []}', NULL, 1),
	(2, '2026-11-29 11:29:49.657942+00', 'admin', 'command', 'history.imported', 'history.jsonl', '', '{"runs": 1, "patterns": 1}', NULL, 1);
INSERT INTO public.gateway_project_metrictotal VALUES
	(1, 'foregate_call_seconds_bucket', '{"le": "+Inf", "server": "counting"}', 2),
	(2, 'foregate_call_seconds_bucket', '{"le": "0.005", "server": "counting"}', 0),
	(3, 'foregate_call_seconds_bucket', '{"le": "0.01", "server": "counting"}', 1),
	(4, 'foregate_call_seconds_bucket', '{"le": "0.025", "server": "counting"}', 1),
	(5, 'foregate_call_seconds_bucket', '{"le": "0.05", "server": "counting"}', 1),
	(6, 'foregate_call_seconds_bucket', '{"le": "0.075", "server": "counting"}', 2),
	(7, 'foregate_call_seconds_bucket', '{"le": "0.1", "server": "counting"}', 2),
	(8, 'foregate_call_seconds_bucket', '{"le": "0.25", "server": "counting"}', 2),
	(9, 'foregate_call_seconds_bucket', '{"le": "0.5", "server": "counting"}', 2),
	(10, 'foregate_call_seconds_bucket', '{"le": "0.75", "server": "counting"}', 2),
	(11, 'foregate_call_seconds_bucket', '{"le": "1.0", "server": "counting"}', 2),
	(12, 'foregate_call_seconds_bucket', '{"le": "10.0", "server": "counting"}', 2),
	(13, 'foregate_call_seconds_bucket', '{"le": "2.5", "server": "counting"}', 2),
	(14, 'foregate_call_seconds_bucket', '{"le": "5.0", "server": "counting"}', 2),
	(15, 'foregate_call_seconds_bucket', '{"le": "7.5", "server": "counting"}', 2),
	(16, 'foregate_call_seconds_count', '{"server": "counting"}', 2),
	(17, 'foregate_call_seconds_sum', '{"server": "counting"}', 0.07838164900022093),
	(18, 'foregate_calls_total', '{"server": "counting", "outcome": "ok"}', 2);
INSERT INTO public.graph_graphstate VALUES
	(1, '2.5.608396870595800401', '2026-11-29 11:29:36.104368+00', '1.0.0', '2026-11-29 11:29:36.104368+00', '{}');
INSERT INTO public.graph_learnedbinding VALUES
	(1, '', 'call', '', '', 0, NULL, '', 1, 1, '{}', '{2026-11-20}', 0, '2026-11-20 08:00:00+00', NULL, NULL, 1),
	(2, 'name', 'literal', '1f9ce37d2c35bbfa9e5dcd347247fa879f54bf0267e10d3f25387dab71b9e089', '', 0, NULL, '', 1, 1, '{}', '{2026-11-20}', 1, '2026-11-20 08:00:00+00', NULL, NULL, 1),
	(3, '', 'call', '', '', 0, NULL, '', 1, 1, '{}', '{2026-11-20}', 0, '2026-11-20 08:00:00+00', NULL, NULL, 5),
	(4, 'after', 'reference', '085c257ac9795c28b247daed4c661049a999bda5311629f5c8d3e273335b0e06', '/name', 0, NULL, '', 1, 1, '{}', '{2026-11-20}', 0, '2026-11-20 08:00:00+00', 1, NULL, 5),
	(5, 'name', 'literal', 'db61a76e76c606e0fe063e6a757762259952473ed79d25077563779e0b20cd8f', '', 0, NULL, '', 1, 1, '{}', '{2026-11-20}', 1, '2026-11-20 08:00:00+00', NULL, NULL, 5);
INSERT INTO public.graph_patternembedding VALUES
	(1, 'sentence-transformers/all-MiniLM-L6-v2', '[0.061266094,0.06796317,-0.06902084,0.0020753597,-0.06439835,0.053971004,0.06874892,0.024749286,0.08966333,-0.040603016,0.022430504,-0.11596758,0.08914551,-0.023447623,-0.13769436,0.035918154,-0.038594108,0.023570586,0.016482117,-0.13399959,0.024146885,-0.04636389,0.050932053,-0.031689726,0.004922057,0.11393824,-0.0826585,0.0016170524,-0.049811184,-0.039884586,0.0033557448,-0.017027088,0.04745909,0.087029606,-0.034195174,-0.05568682,-0.116743356,0.018811278,0.02799008,0.0074314256,-0.038209647,-0.078286454,0.049764957,0.0011377869,0.09010452,0.0417298,-0.015930975,0.06921025,0.05877906,0.025734374,-0.05411695,-0.014621891,-0.05849506,0.01784862,0.0302794,-0.016211985,-0.0067131813,-0.059300695,-0.009713684,0.04904553,0.011371634,-0.050964613,-0.0014331449,-0.052967116,-0.077120185,0.03894237,0.035341132,-0.08776004,0.037992485,0.042536817,0.05835059,0.10729211,0.13332868,-0.007911348,-0.12863779,-0.04444479,-0.0544611,-0.03072834,0.05132161,-0.004711475,-0.07779658,-0.07169562,0.0044087046,0.020393291,0.0533336,0.043905813,0.0039945804,0.004179118,-0.037247922,-0.031691507,-0.11862018,-0.01789246,0.027378382,-0.022562278,-0.0016287536,-0.0070829666,0.020981194,0.06528664,-0.03690857,0.084603965,-0.045192048,0.01706327,-0.01088263,-0.011167733,-0.052201863,0.09995245,0.07486442,-0.040371325,0.050104246,-0.05396545,0.056516573,-0.0145515,0.038151328,0.047819544,0.004666763,-0.102176614,0.05198693,-0.040752996,0.030100321,-0.05261476,0.11420653,-0.009749664,-0.033902112,-0.009080379,-0.07376758,0.019670565,0.05862676,-4.4160204e-33,-0.010846177,0.005960854,0.10333757,0.061547883,-0.02197796,-0.059161436,-0.0021756527,0.06905168,-0.0873796,0.051656045,0.011512874,-0.07621163,0.09903812,-0.011299885,0.004513047,-0.016871173,-0.0005576398,0.0011414258,-0.10316655,0.0069747902,-0.011547362,-0.09993812,0.0048823864,0.048370894,-0.011519612,-0.014984433,-0.0060240417,-0.067608155,0.053107396,0.022885237,0.06446787,-0.0093521625,-0.08305135,0.044545427,0.09521918,-0.0694971,0.020400042,0.025060706,-0.006883118,-0.0030006221,0.0070884265,-0.036688536,0.014612832,0.010732237,-0.10533041,0.05832611,0.05324909,0.011761537,-0.03643253,0.05860385,0.095958754,-0.0132272,-0.037431676,0.06145817,-0.022524934,0.03852295,0.0008721689,0.04236842,-0.0103054615,0.088541135,-0.00911637,-0.047927335,0.005483803,0.09319653,0.039492127,-0.02972366,-0.009493861,0.016398774,0.016494257,0.030471642,0.051527776,-0.021727528,0.08288967,-0.024119612,0.014865371,-0.002081003,0.03880914,-0.021283872,-0.11148728,0.03985352,0.0075175217,-0.02787993,0.06703889,-0.021662802,0.0020258934,0.09808399,-0.042599976,-0.056874007,-0.06335077,-0.02049959,-0.009392415,-0.025472218,0.01850352,-0.07305873,-0.06266152,2.1614817e-33,-0.013130904,-0.011787249,0.009594586,-0.025430862,0.031962343,-0.07656167,0.010285993,0.02830375,0.018030813,-0.006939455,0.034084424,0.010676822,0.005895407,0.0100451205,0.09002179,0.07321589,-0.011643851,-0.0011956115,-0.057737496,0.030746296,-0.034631103,-0.015905045,-0.061299883,-0.025992969,-0.05568466,0.061022256,0.06625466,-0.12778853,0.01817113,0.0010027833,0.05171398,-0.036658663,0.04632021,-0.0013976858,-0.056718994,-0.0060015074,0.0607086,0.005478681,-0.04464412,0.0048748604,0.00024134219,0.025285045,0.016718252,0.02448195,-0.0069719716,-0.023881529,-0.037783865,0.051581647,-0.02188614,0.02309501,-0.055766758,0.0071825855,-0.10757019,0.042509627,-0.032483466,-0.037024397,-0.025484992,0.008115313,0.014090308,-0.034282107,-0.03205851,-0.004239191,-0.012914803,0.100053266,0.038076036,-0.00948124,-0.0947498,-0.015104532,-0.04599203,-0.0006202888,0.035653796,-0.042178374,-0.094000325,0.015080369,-0.0015673144,0.07549266,0.013922232,0.010089922,-0.04887864,0.077012405,-0.029084334,-0.10875781,-0.013770268,0.049389504,-0.018679444,-0.010890752,0.0719472,-0.0046126135,-0.024301386,0.0054131006,-0.005415957,0.0007175404,0.025016861,-0.09657509,-0.0035264115,-1.9631253e-08,-0.031475622,-0.093439564,-0.010694172,-0.041062754,0.08978201,0.10035995,-0.009371571,0.048757885,-0.019436227,0.0032180625,0.06591272,-0.031628467,-0.044123612,0.040599696,0.0005007047,-0.017659709,0.0076380274,0.102829024,0.004710981,0.03960806,0.0003285726,0.017709749,0.017887626,0.011795372,-0.025095638,-0.052627783,-0.023097137,0.061634634,-0.047069773,-0.07677431,0.054487064,0.06711036,-0.085427985,0.023015365,-0.0019228811,0.050977264,0.0006110466,-0.0004058932,0.011900468,0.02191266,-0.027441405,0.031987686,0.0014201223,0.06251735,0.022207247,0.017875955,0.021275768,-0.15833615,0.027373457,-0.08492836,-0.038677048,-0.06259546,0.03540998,-0.028174965,-0.12636763,-0.042372655,0.021192191,0.019494362,0.03340731,0.06862235,0.027893076,-0.038540456,0.0367822,-0.04281173]', '\x80000000006b0c0cad0712de9369d8d3b7d8864402d3708da12d0a1958bd96f29b99423a52fbc3be96ab8e29c658cc47d2a476804a196a1d8b8e893f2ef41776dca34104ecf5065e864161952cf42334269407bd634d830b94b171a1acab8aa4d1f662e8e109086984b6f86e12ca3739cc65f7b7c65ed7579f40939bae47708efc2d0bdbaf929c784d4cb0ffad25be25712e1ed8b36e34d3cc8196e1d5dfe5e6dbade4888604bdac54dd2c1b9ecb46d0e2a2f2ec55a920431e0bc24b9d0b050e7d7cce6cc06d7e49332ae69c4bb6dde5bedec710a0d1dc4c571c10432e08fcccbc1efbe7d7ad76142c79993e3129d482a559e5e173d0d42be1477d360b93d57a25e8f90a1bcf001bd4ce365a8c3d57a6c36604d66d23b13da9fcb1ea166b41c5d25033902e6e4f9d9e9177e8d28fde4be304444f04d07fe539ce6df538274498a5dc79ec34b5ca0c4fe9bddcddc7be1c0e2d23382e6a2caeb32c2a3165cd63bfb8907f6ea02237628eeeb58bf4d5e731a956898e4aab7a1105ec757d744bd5ca78f41ed9e23d42c15dc51f89b8a8c863e8ef7d494dd5b7fc0ae4f842f6d06cc99fcbacf2f73e15fef0784775df2db73c410a23b4cfb9631c6f4e3e0271066e80ce516b7745165b4eff0655ee82cb00255f27f508eb14dc57529c9df8bbd69394cbac0731c4817ca77363c9ae461b79f7e12f1d571b4a2c68324f28f778b0c95c57d8615850bd2b857fe47abefc300d4c573a5979245c487fd0fc5ab57d52e2f9410a4fe0605700927f0d8f412d7cb26fabab7c2d733d71f86ba14d14cdb29becef851e7df111dfa3a5618b82a176c5d8999d39ad80c228b7126a008bf4f1ce42b023bbe6ddbd7b009891cb85c5880194e44c12b7a608bc2efb5d383970dc3f7591dc7d4c6fed57d95e05358947a2caf47ecfb48906f177e6f5a02f7aab320555fab9eef083650ee853ec2f4b95d5b0c7af7fb76942fe69a2b56a1b786e328c45bc742ec1a0a651bd7d1317d5144c133155deaf7ab36586581faf83651a397de32ed49cdb10a42fe6f350b035740bbcb6e6a021c3820397d72559f7a1f0c99646f1e2497e600bde0cfb00b76e2d1aa343e1c665af477dd0f01d0f2b0c1b2d9365796b6ce43dcf6fae9d2e7bbc6c454d98640062d585b431bb6f24a9d83ddaa82a7d7d7e02860f7f4cb8384a0a8bdb1aa77d76ebd65b7f2e3098572f5701e337ed4ef00d3baef20e9aff6953e999e1e4de91d1a83ce7684636fe7a3a0b8b75f4787619e57d04c8f040941fcdd6eb4b79b5673dafd0bca8d1f9cd77db1c17d3d005ffd165035c121f16a39fe28647d386080bbe4c7dfc616b46dbadff68d292b3b9df3cb516480b71bdbb20cb922d5a53dfee7c14c5ec6e4a0bed53fb68c52a7a5ad07964b835ada747dc23f50e7666cdc12bd462fe0941cf160c89f6fec1691e70d9cfae4ef59f36fd5e52e5fec007e7773a19b70a876b1d020f0e586a8653b22aab8c5cce3862b5033187eee1b9685a94aadb031c87b1b01fc20928a0e11be59c7f0ba0de3830f73db26f3ef7bfa3e3a2646a8d5beff48943ed233324de0d34254b0be4565bb4fe8580a0b8b0716ec455a8eae834f42e2244658e3ba886d352a1a1960ea7e31bdff053e6310068dcd90aaa77decbcab160bde53652d658baabfaadbd0e1c375f3cbf3616e141e5a300186bd7072a08768b31a9c2526a9f02117ecd2def4a4df95d8e9a4920c5d6955c17b6421f43b4446d0dc28992b1fddd0abf03aa8e6ed1cea8c01afafdd3c3c48e3dd22992cf4cc66a38998970091c119369632262655f5abc0f7fd14ae8f49fb4c2b1181d44bf5a11574931669d224677f9260d64985a8ff4f7714d50a16b779337b133ec0ff2d27215e6a2d7c742bec9cfdc44c1f75be2069d878032b9bca1f0c27a611aa6b08530d8b54a3c471cb45a12794f58bbb18acba4c8ea01d216c7f31cc0058825a9e36dd533f1f3b0c45c60a9dc171f48d0c96b1b0d4ec1575e859829743a8b0bdd268ed7a353261e3e3320b688438e31e74e309b33086b0a8d61375f3e8284e800db27ab66b70fb260a03fddb137ca9f468b6997f049753863af3c04b8b5673895ff245d959097ba75dcb108bca6190879221c00f70b9aaf175a8c6b160881e4ff15dd56109ed6339aa8323b2d5e1f0eb344740d3c690c0d37ceb3b39ef3324bb174a43b180d2d372fedafacd89fb6c23a65d61ebc0f0e8fadd0010d8ac17ee311e8de59a106e3c12f8a1f3a67d7008fe741e41125b4eb8a03bb3e4fb48ff1cf176e9ad8689c6ae61f6833cf4f9766fc8e12474b7c3ff23607d686348e0ab962999d980f821b18c2de5f24f0d949b0bec4cfecacc3e1c76d7dfa62a0e8e9f8e8afe17846d888abe2409e27492de1f5fc2c9b4bd25a6d744153d8196436f96f0ab192c70987cd7f765ddd925b7c0030b0134738c9c7f663c1464ea5ee40c6c19992ea2a16c49685a899c856a822c83a582ead857923c56f686c61ac08115e960ed116e3311dcbe10d931b26e0ca8a1a62ae1bae0f859ea1448c7e6591f1e02799bf3a281dea706de42a73ea53fd150dc6c2ba55ce52954e07f0e52a1baad3a7e9c243b90daabab97587584335946a3aa20664c6760dbced27017a721261ee80a94da49b7186a73d1d1b6f0a464910fd37646b880a9aba92bd904cf45ed83d8cc26be0f637d710bc889bbaf407b2f87c032a5485cf37a6b7b566636a4f380bd1236660d028475ad3550b23a1eecefeca89a34ff7b1f286c0ede62230de248231ec67b0097458e660ae69ea5aac47bd31143ba4298f915adb36d1685eb794fa293e0f94226d098493bd4d3dfaa49568f3679fce45bccdd20bb56a40a5607008b52b8a778760dd46776a151c809249cef84d3482eceeb2f3479796b0500d4dab130102f8871d230cc07643b23f585af3743b7712cb2670367208009c446fbdfa365b44410d87d3919fe573ff99bcd8708911e4d580d04736ca9d07a1663e6659b51458cc80688a02a8e6558f5abb34a055d57693475b0964b2aca53595633118655412e272d240eedc107b58b9cf93cf2a6c76894a8f533d30fec64be9f9eae3c32e91f69285c9c2adcc0de367cd2d481485400fd371b6bb0b9b5717de510787e1292f09fd3ed43b4baf848f3aa23e4f60fe2d5c4ea0764bcbd8999791dd5f15dbb3ab8a16399b13595a6602a8e87b6ece731ca93f7cfa371e2a374943b4c7c39eaeb8d45ab2c2fd6a4eecba78c1cb14ebaf1b32b42360aaf6b73346dcfa298b35be26cee85a6f5cd4a75d8aa3c15135cd77321222605882572db190c204b91a296109005442dbfcc4df0045b45f8d0b63f8ee91537f947d7573e7c7116694cf9ab3570ae4059015b8661446b1e3cda578585235c2e8f65f6f53c17799417ada4f13d3850942fe4624c54c68ff1d09108dcab0320fb46ca83a2ff1e2a827f399b46bd6d999df0c6ebf4b157f854634d560e79be5ff5988bc257c337d387cdee2940e7a9da7fe2747d63c22c141717c5cca97f1cb0d3382a91a274fea30ebba8bdace44c62102a6542a6d6a2ebe8e32ed707b73e96c80c6ca4526987f3761ba758505a5fb092153cc70d7d40aced6e779076cec27afaab6732f8b6c8346acc449bda25093ce2b05c9a4d12093af221a56dca10693c6448313ee80ef03fd51a057048449b7b20d50de5932549bcc3ba5cf6fa6c683660791834b88197c74ee46865162e0d82a58b8ec662dbb4313e73437890bcb231cc9840900cdeb61c27f2666d1baa924e2c6c5539f49a2e1f74f3bc44ffff900ca8f0bc5cba94f7608130381e93664b1798569907d687cec834842f923ab11ca3a2ab9d7c024b98b71885fb9be40a64ba4bf79b9faa17cc83231bb9a8705fde73243097a36b16a0de071d9632c166192d64730b5b0d65aea7cf8b50784dc682f8af6beb8423031bb9f88312a1183890fb9a04524791db2ca341d6fc14d9eeb0a4593f1eff8df2c16249fad52cbd36ae0c2d04f937d058b4a30545289d0b9aaa4033ba2dcd2ac1ffa7ac4de699225459294b0caa71e0c2057c9cb5e900b9db0bcfd3aa979024cefccbb8d8a817fcba87500cdf830cc8955e3056942322690529744343eafe4eb9dc6039600b961b23d6f5a4e461de934fb993b354d1aad7e39825cca2387f990e2a84520f55cfe49a854f5f6c8b955d75bbec8a8f291b3e0905abba7e9d79512fe87f154b75f06881a6ca2c5e9e2787e07f2fda420f61b0b21983af3f56d2aba743c9ce018f7f1a75b8bbf59d023035f73c86e209c9f83f0f6c620109abd554c0224ce6109cacda07a68f2b99374406e6a89674a11380e7c66e38c74da6981a128203d71282d735dc39edf582f13c09d16fde4da682f576ec4846284b7f8762a723399ff3b0b468e4e5f1c8601f25e92119f77d2e01288b30577de45489ee17ffb0697e1063e3bf329597ac0d35ab03a5965c91811a0722aa91d66c886d1ad28786adf31271f17d8f68159b8d0cd2148d048788945cc0c1578a9db6fa77edf2586d81cfe855155e73bb4df823935c130264fd6bf850bd6b17325204f8ef70f561cbf0279cab2e6a0a55fa9e10fdf63ba267906d86811ec4cf55adfccbdd45cd21d1b9b7b0a2857c5aba1301722149d15a17639fce9cb3e920c15c60f2b5ee482ca1391694ac2993577ba485482f24e14593a4a219302d6e8c1c86f838162b4b51d14a68f7109e8479d738d41b4eeb0ec5154189faf16a5fc2915295f45ce7e03dd2267daf78c7f998d6d3f7666a013e8ea65c25020c8589a073200c1447f2b7ebf81a951709bc67da11898128f2e641954e1acc033bbb6d205f8126cfcef9b1f7ab51e42d47e90aa4992e84f0cf57f86e407f1a817bf28acb6f11d044904351dba271a5552eefc14e8bea9709fe90230ee0da16d162534a843e443ef8ebba48a86c5b3dd6fd8dacdea36c77ff0e55aab8c0c93872f06069886dad3f31bc92fb744b0dc2100cd27c7502ceebe7dd3255d09ac9c8af10ad5ef00dd2bf05976d97d292d2ac1c929faca4acbc0f2275e99adbccaed99c165633ddddba747bffa07bfe69a1db6e383f4be7d30709d90a34d8fcedaeb3b904362c965e32e44b393cfd8fabdd944f8c7aeecba2a9bbaacea9a966fe21c248b68149ef3e72ebb4782170c5a8e0445c5b938e2d46b6c73e4672f739857d032e88d1f6c48c3e6336626530a3cb8d7d37cb1af85446f6edd44281e60d4c1cbf08ec6a7936a131c7a26a0778410a80762276ef0978bb90ab2873bf9f1ef89510208b9c87f82548be302db3c6b04bef0e2f11bf12affacabbe4f77f53c6db27fba12b7fb62746f79f3ec2af791b81b65862c20768894b0f51aad231da44ae9dac4bd63d10b3dc34c993643c93ea4671621229b06ead2043938bc7a629dae2e4ef8ba7d3d985c57ca2bd2f7d60a8860478122913b29d9f576465384bd881644741c7c9fa59c6a3629c0638b363341c81e122efc30af7b0aeff5afddf8096df90ccb899c15876333537d68492da324396487ae5f035d4333125dfeddb9ef3f1f187f6889deaca171cecc771125881c509e9368285a547444755cac1019f2b494dd40a69bec0d8ba75c2c0dc3eb029941773cee05f1d95d8e492e485b1036878565343f6a767d5a620dcd234661bdeebe1c3997f11ce7e5282d4ad1339f34b4f3a7fb31a326c773b3adb28368031479865749d7499cdad01a71ae5dcc198b7dbd8de7de780f2e3d35233b0b1faf67ebb0cd54fad2bf52b4c5a1dc9b747d98b48c20fbdd70d098dcf9067c4b7aa27778f024d5ae592341bd9deff6782b23cc65afab6dd3e50c16027c5dbe7000fdf4fd3779dc75c9cc5863e2c0b697c4588a8ae38ba12f4932086f989ddd8bdfb606132ef1c74df72ff1f3bee6916afb601f244d42c5caa4a4ddc66ed130a3bac5af2d78bf3126b262273d17fe067264894933ada76201f9fda88e3d70d96a5820a36cdc81ecddf17392940d305eb44213bf4d5085eefe80c39f1ebe45c1cecdf6ca6023b09daa676ee654264c8dc49f7d2a2b0a7fe88f06e6eae4b6083d5b784ed466a01904835cccde49f7424b437fb3de942c1d2a4cd3cd4b6fdf41538973a6b324d9ca03917da6b79a648ac33608e974d559252674a6fd64d563f1fde9fe979da3c64df9c7a7a04ae6f82dee739a4427cea03ab3ed9d02e0c4b385a5d77361cf7c56df191003d2e2256317c792b17dfed9fd1bdc63586c4944062b87234024d51c11466d45f592cac627a5eb2e7eda8153d7b3a0127f496f9ea328179aafff31cf6d3fe66c11aced8db99eca5e8cbdb354a7f6032abcf9106764fb4c1b565efc95e8057e58fad078f3580c5c055897709003cd50e0c57b765be04baded5d69fa4a1e8e26dd196c7ec66c0bc6cb45375180fc5542e1895e00ef7e90f5ba107ba23240f584f481e2d2cc87b538621eff8fc79a743150c6a687d26d47ccd64388e4f8d792585f9e7365774bf3f7a4de74c60eabd57a5a6eb0ca60f7bf316eee4105761508e760de707389e6ff6653f57321c763264bd3b617085422b942765deb90ee0ef912ce8c11b20ad83c56e1cfd1484b23faf7c43ec75e5ce5122fda95fe0063129aebdb3aea6b75f47b116de615bd3897e68a6a1398fa061072c30f2e7807a4d0eda04553fadecda4e4e51aa1bb280b402cf5cd1d1299382f889521315c44ab96e7e6c42d7c4f07463c9839a008bdd6bf130f9983319e714c3f028f02ac729604ab8093f6de8f95599d1c287a18af18db374ba0e254ffc1cbc16c27d52c569d36f1f86e66f73e15364a542c875a3d93781ba9563ed82f280e97ac88f48092dee7bbf8c308a876990776c0fe084938aa9bfe9b3617400d59e409fc20cbf624d8087ec073e99355900b0cf58e597dc46c862976f039c0a553a9e5ceadc36c3cb7c7e05f3fa420fd2114fdda6bb6c0f118c83fc6c09f5936323de61058e5dfc8338663a752a94d336f628e6e34b5d5ab7d12258b04913caf73257c5c4a668a25bd380b38e4e595389390af9ed5d62d81eb6631219986f3c520fbbfa502e8a921c5cd521bae874631c0422f1243f94a5b1e472f337fb7f0009a96f23ad610b326b4133120a3fc2269a433eb7236dbcd9e8cc87fde591e46459916692dabfea2381e8b5774f550ba74e0cde94379dd4baa05969e294e329e3747fbbb983fbd6f400894969d35a1cc193e03694f7f1670f839abc6ce9e3adcab2f91dcbea0494dbf205628c7435f5e6dbe8af9fb988a38d6566cbde7191cb9f22f38a24e05815eb8673b208d522c40aedb25f2c35673c3db623bb59ceff4f1659ff9d820aa0a226496d535e7695e77d3d102c2e660aded24c6814d36af5178ebeb8fab621c7a8c84a25fa78a881cae7fcadf806f6ca63554eec2cddd04ff2c3460a111a75db193bfe8233dbaf8071ce1ccd60facc3b496132412dee92c0745c2d0bb7113c7b966d831ad12137af00497f729ea46cd856f152708fe9348c2433871eafdb107a94ba177b4e36312bd8769f1a9154df02050d13f6f1b214bf0db2e2c455d307993851c63ec8ea404f5af0822e673261465830a2b6538977a41e27c7549386f77ffe0aee369830146ea1d25b78c244b00ef2a20cc29d5ef45bb1f859527bad30d95bf7ea9b96a766579da284fc28c447ea011653816d3329a62407ad2454e3cb7ded9edfe93f090e0bebeb7a4392cbd47e759a8f62393823d14c15bd59c0f3bc2d95e15e3bc207c634759824c3a9aa66527718df3706ea98954ae8bc08415fa897e2af37ff08f96315819cdb82ae517ea', 1);
INSERT INTO public.graph_patternrun VALUES
	(1, 'run-1', true, '2026-11-20 08:00:00+00', '\x504b03042d00000008000000210008b95b43ffffffffffffffff0c00140066656174757265732e6e707901001000c00000000000000064000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e136a68a6aea3a09e965f54529498179f5f94920a92704bcc294e058a17672416a402f91a9a3a0ab50a9400ae340606064b203607623320b6006243203606e224203605e214a81a4b24b124a83800504b03042d000000080000002100042a6025ffffffffffffffff08001400726f77732e6e707901001000000f00000000000030010000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91ac6463a0aa6169a3a0ab50a64022e066ca081c10608b1011b28c6027a2c191864b62399401a68809a8f4d1f4eb780ec84ea6c00d3a4d9da40d00e2cb682ec2cda02d1dfb39324bdf8edc4c303d9797c27d976520fa0c60fae54020264a7a1a21d482690061af0b80aa759e034b407aabf019f4a3c7612b003dd2d14c6276e3b71f1a0798582744b3d008b1f1b381f3b682023053060a421d240033c0d916c274a1a22c74e06d26cc69286686127a13434308050da81010ad210525d461a20270d61abcbc8b1136e1a7180a2f824270d3150986ea909f0959cc860340de105a36908078fb676122e0147eb4f82768ed69f74b713ad750e00504b03042d000000080000002100f62809eaffffffffffffffff0b001400746172676574732e6e707901001000c00000000000000051000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91ac6463a9a3a0ab50ae4032e061b061840b030459059286c00504b03042d00000008000000210045e68fb5ffffffffffffffff0900140073697a65732e6e70790100100090000000000000004a000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e536aa4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a163a9a3a0ab50a14002e56061864046300504b01022d032d00000008000000210008b95b4364000000c00000000c000000000000000000000080010000000066656174757265732e6e7079504b01022d032d000000080000002100042a602530010000000f00000800000000000000000000008001a2000000726f77732e6e7079504b01022d032d000000080000002100f62809ea51000000c00000000b000000000000000000000080010c020000746172676574732e6e7079504b01022d032d00000008000000210045e68fb54a0000009000000009000000000000000000000080019a02000073697a65732e6e7079504b05060000000004000400e00000001f0300000000', NULL, 1);
INSERT INTO public.graph_workflowpattern VALUES
	(1, '611af315feeeab05188b5516dda015a40edf010b8e502ac083bce7559aa911f9', '3196bac815fd122ab2819475b2b5e8c9d5aa79ed002c2a80eaeb80cc5ceda75e', '[{"id": "t1", "tool": "counting:count", "depends_on": [], "references": []}, {"id": "t2", "tool": "counting:look", "depends_on": ["t1"], "references": [{"task": "t1", "pointer": "/name", "parameter": "after"}]}]', '{1,5}', 'gAAAAABrDAysAERvAKJuit6xxEwh4qUe9ok3fmHBAhFoALmUpEe8k-LqCaGxne54nJsepOzp6nUETg_w970TwX3V7coPh1XaoRUMqzsCg9jdkgT__vqv9Jg=', 1, 0, 1, '2026-11-20 08:00:00+00', '2026-11-20 08:00:00+00', NULL);
INSERT INTO public.learning_episodicevent VALUES
	(1, '2026-11-29 11:29:41.37553+00', -6883057793136691323, 1, -5558032666887216551, 5600203647642214942, 2902901683505700531, NULL, NULL, 72.08577599999444, 1, 1, 1, '{"run": "e9e7ed90-a5af-47bf-94a8-1050ad533cbf"}', NULL, NULL, 1),
	(2, '2026-11-29 11:29:41.391035+00', -6883057793136691323, 5, -7976606805633026830, 5600203647642214942, 2902901683505700531, NULL, NULL, 6.692691000125706, 1, 1, 1, '{"run": "e9e7ed90-a5af-47bf-94a8-1050ad533cbf"}', NULL, NULL, 1);
INSERT INTO public.learning_eventspool VALUES
	('de1e7804-d0a6-4167-8a00-bea74cb6b084', 324, '2026-11-29 11:29:41.418563+00');
INSERT INTO public.tools_dangerousoperation VALUES
	(1, 'delete', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(2, 'drop', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(3, 'destroy', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(4, 'remove', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(5, 'erase', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(6, 'wipe', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(7, 'purge', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(8, 'truncate', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(9, 'shred', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(10, 'uninstall', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(11, 'terminate', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(12, 'kill', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(13, 'trash', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(14, 'rm', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(15, 'rmdir', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(16, 'deploy', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(17, 'publish', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(18, '^release', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(19, 'broadcast', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(20, '^email', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(21, '^sms', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(22, '^message', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(23, 'payment', 'dangerous', 'moves money', 'seeded', true),
	(24, 'pay', 'dangerous', 'moves money', 'seeded', true),
	(25, 'charge', 'dangerous', 'moves money', 'seeded', true),
	(26, 'bill', 'dangerous', 'moves money', 'seeded', true),
	(27, 'refund', 'dangerous', 'moves money', 'seeded', true),
	(28, 'withdraw', 'dangerous', 'moves money', 'seeded', true),
	(29, 'purchase', 'dangerous', 'moves money', 'seeded', true),
	(30, 'buy', 'dangerous', 'moves money', 'seeded', true),
	(31, '^order', 'dangerous', 'moves money', 'seeded', true),
	(32, 'transfer', 'dangerous', 'moves money', 'seeded', true),
	(33, 'payout', 'dangerous', 'moves money', 'seeded', true),
	(34, 'execute', 'dangerous', 'runs what it is given', 'seeded', true),
	(35, 'exec', 'dangerous', 'runs what it is given', 'seeded', true),
	(36, 'eval', 'dangerous', 'runs what it is given', 'seeded', true),
	(37, 'osascript', 'dangerous', 'runs what it is given', 'seeded', true),
	(38, '^shell', 'dangerous', 'runs what it is given', 'seeded', true),
	(39, '^sudo', 'dangerous', 'runs what it is given', 'seeded', true),
	(40, '^bash', 'dangerous', 'runs what it is given', 'seeded', true),
	(41, '^powershell', 'dangerous', 'runs what it is given', 'seeded', true),
	(42, 'format disk', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(43, 'format drive', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(44, 'send email', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(45, 'send message', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(46, 'send mail', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(47, 'send sms', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(48, 'force push', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(49, 'place order', 'dangerous', 'moves money', 'seeded', true),
	(50, 'run command', 'dangerous', 'runs what it is given', 'seeded', true),
	(51, 'run shell', 'dangerous', 'runs what it is given', 'seeded', true),
	(52, 'run code', 'dangerous', 'runs what it is given', 'seeded', true),
	(53, 'run script', 'dangerous', 'runs what it is given', 'seeded', true),
	(54, 'run python', 'dangerous', 'runs what it is given', 'seeded', true),
	(55, 'run javascript', 'dangerous', 'runs what it is given', 'seeded', true),
	(56, 'run sql', 'dangerous', 'runs what it is given', 'seeded', true),
	(57, 'run terminal', 'dangerous', 'runs what it is given', 'seeded', true),
	(58, 'run in terminal', 'dangerous', 'runs what it is given', 'seeded', true),
	(59, 'run all cells', 'dangerous', 'runs what it is given', 'seeded', true),
	(60, 'write to terminal', 'dangerous', 'runs what it is given', 'seeded', true),
	(61, 'interact with process', 'dangerous', 'runs what it is given', 'seeded', true),
	(62, 'evaluate javascript', 'dangerous', 'runs what it is given', 'seeded', true),
	(63, 'evaluate script', 'dangerous', 'runs what it is given', 'seeded', true),
	(64, 'evaluate code', 'dangerous', 'runs what it is given', 'seeded', true),
	(65, '^start process', 'dangerous', 'runs what it is given', 'seeded', true),
	(66, '^run process', 'dangerous', 'runs what it is given', 'seeded', true),
	(67, '^spawn process', 'dangerous', 'runs what it is given', 'seeded', true),
	(68, '^run cell', 'dangerous', 'runs what it is given', 'seeded', true),
	(69, '^run notebook', 'dangerous', 'runs what it is given', 'seeded', true),
	(70, '^run container', 'dangerous', 'runs what it is given', 'seeded', true),
	(71, '^run pod', 'dangerous', 'runs what it is given', 'seeded', true),
	(72, 'overwrite', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(73, 'revoke', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(74, 'ban', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(75, 'reset', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(76, 'revert', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(77, 'rollback', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(78, 'disable', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(79, 'clear', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(80, 'shutdown', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(81, 'reboot', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(82, 'roll back', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(83, 'shut down', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(84, 'add', 'write', 'changes something', 'seeded', true),
	(85, 'append', 'write', 'changes something', 'seeded', true),
	(86, 'apply', 'write', 'changes something', 'seeded', true),
	(87, 'approve', 'write', 'changes something', 'seeded', true),
	(88, 'assign', 'write', 'changes something', 'seeded', true),
	(89, 'attach', 'write', 'changes something', 'seeded', true),
	(90, '^archive', 'write', 'changes something', 'seeded', true),
	(91, '^book', 'write', 'changes something', 'seeded', true),
	(92, 'cancel', 'write', 'changes something', 'seeded', true),
	(93, '^change', 'write', 'changes something', 'seeded', true),
	(94, 'checkout', 'write', 'changes something', 'seeded', true),
	(95, '^clone', 'write', 'changes something', 'seeded', true),
	(96, 'close', 'write', 'changes something', 'seeded', true),
	(97, '^comment', 'write', 'changes something', 'seeded', true),
	(98, '^commit', 'write', 'changes something', 'seeded', true),
	(99, 'configure', 'write', 'changes something', 'seeded', true),
	(100, 'connect', 'write', 'changes something', 'seeded', true);
INSERT INTO public.tools_dangerousoperation VALUES
	(101, '^copy', 'write', 'changes something', 'seeded', true),
	(102, 'create', 'write', 'changes something', 'seeded', true),
	(103, 'decline', 'write', 'changes something', 'seeded', true),
	(104, 'deny', 'write', 'changes something', 'seeded', true),
	(105, 'detach', 'write', 'changes something', 'seeded', true),
	(106, 'dismiss', 'write', 'changes something', 'seeded', true),
	(107, 'download', 'write', 'changes something', 'seeded', true),
	(108, 'edit', 'write', 'changes something', 'seeded', true),
	(109, 'enable', 'write', 'changes something', 'seeded', true),
	(110, 'enqueue', 'write', 'changes something', 'seeded', true),
	(111, '^fill', 'write', 'changes something', 'seeded', true),
	(112, '^fork', 'write', 'changes something', 'seeded', true),
	(113, '^generate', 'write', 'changes something', 'seeded', true),
	(114, 'grant', 'write', 'changes something', 'seeded', true),
	(115, 'import', 'write', 'changes something', 'seeded', true),
	(116, 'insert', 'write', 'changes something', 'seeded', true),
	(117, 'install', 'write', 'changes something', 'seeded', true),
	(118, 'invite', 'write', 'changes something', 'seeded', true),
	(119, '^join', 'write', 'changes something', 'seeded', true),
	(120, '^label', 'write', 'changes something', 'seeded', true),
	(121, '^leave', 'write', 'changes something', 'seeded', true),
	(122, '^lock', 'write', 'changes something', 'seeded', true),
	(123, '^make', 'write', 'changes something', 'seeded', true),
	(124, 'manage', 'write', 'changes something', 'seeded', true),
	(125, '^mark', 'write', 'changes something', 'seeded', true),
	(126, 'merge', 'write', 'changes something', 'seeded', true),
	(127, 'mkdir', 'write', 'changes something', 'seeded', true),
	(128, 'modify', 'write', 'changes something', 'seeded', true),
	(129, 'move', 'write', 'changes something', 'seeded', true),
	(130, '^mute', 'write', 'changes something', 'seeded', true),
	(131, '^open', 'write', 'changes something', 'seeded', true),
	(132, '^patch', 'write', 'changes something', 'seeded', true),
	(133, '^pause', 'write', 'changes something', 'seeded', true),
	(134, '^pin', 'write', 'changes something', 'seeded', true),
	(135, '^post', 'write', 'changes something', 'seeded', true),
	(136, '^push', 'write', 'changes something', 'seeded', true),
	(137, '^put', 'write', 'changes something', 'seeded', true),
	(138, 'rebase', 'write', 'changes something', 'seeded', true),
	(139, 'register', 'write', 'changes something', 'seeded', true),
	(140, 'rename', 'write', 'changes something', 'seeded', true),
	(141, 'reopen', 'write', 'changes something', 'seeded', true),
	(142, 'reply', 'write', 'changes something', 'seeded', true),
	(143, 'replace', 'write', 'changes something', 'seeded', true),
	(144, 'reprioritize', 'write', 'changes something', 'seeded', true),
	(145, '^request', 'write', 'changes something', 'seeded', true),
	(146, 'rerun', 'write', 'changes something', 'seeded', true),
	(147, 'reschedule', 'write', 'changes something', 'seeded', true),
	(148, '^reserve', 'write', 'changes something', 'seeded', true),
	(149, 'resolve', 'write', 'changes something', 'seeded', true),
	(150, 'restart', 'write', 'changes something', 'seeded', true),
	(151, 'restore', 'write', 'changes something', 'seeded', true),
	(152, 'resume', 'write', 'changes something', 'seeded', true),
	(153, '^review', 'write', 'changes something', 'seeded', true),
	(154, '^run', 'write', 'changes something', 'seeded', true),
	(155, '^save', 'write', 'changes something', 'seeded', true),
	(156, '^schedule', 'write', 'changes something', 'seeded', true),
	(157, '^send', 'write', 'changes something', 'seeded', true),
	(158, '^set', 'write', 'changes something', 'seeded', true),
	(159, '^share', 'write', 'changes something', 'seeded', true),
	(160, '^stage', 'write', 'changes something', 'seeded', true),
	(161, '^star', 'write', 'changes something', 'seeded', true),
	(162, '^start', 'write', 'changes something', 'seeded', true),
	(163, '^stop', 'write', 'changes something', 'seeded', true),
	(164, '^store', 'write', 'changes something', 'seeded', true),
	(165, 'submit', 'write', 'changes something', 'seeded', true),
	(166, 'subscribe', 'write', 'changes something', 'seeded', true),
	(167, 'subscription', 'write', 'changes something', 'seeded', true),
	(168, '^sync', 'write', 'changes something', 'seeded', true),
	(169, '^tag', 'write', 'changes something', 'seeded', true),
	(170, '^touch', 'write', 'changes something', 'seeded', true),
	(171, 'trigger', 'write', 'changes something', 'seeded', true),
	(172, 'unassign', 'write', 'changes something', 'seeded', true),
	(173, 'unlink', 'write', 'changes something', 'seeded', true),
	(174, 'unlock', 'write', 'changes something', 'seeded', true),
	(175, 'unmute', 'write', 'changes something', 'seeded', true),
	(176, 'unpin', 'write', 'changes something', 'seeded', true),
	(177, 'unresolve', 'write', 'changes something', 'seeded', true),
	(178, 'unstar', 'write', 'changes something', 'seeded', true),
	(179, 'unsubscribe', 'write', 'changes something', 'seeded', true),
	(180, 'update', 'write', 'changes something', 'seeded', true),
	(181, 'upgrade', 'write', 'changes something', 'seeded', true),
	(182, 'upload', 'write', 'changes something', 'seeded', true),
	(183, 'upsert', 'write', 'changes something', 'seeded', true),
	(184, 'write', 'write', 'changes something', 'seeded', true),
	(185, '^activate', 'write', 'changes something', 'seeded', true),
	(186, '^authenticate', 'write', 'changes something', 'seeded', true),
	(187, '^begin', 'write', 'changes something', 'seeded', true),
	(188, '^bid', 'write', 'changes something', 'seeded', true),
	(189, '^block', 'write', 'changes something', 'seeded', true),
	(190, '^burn', 'write', 'changes something', 'seeded', true),
	(191, '^call', 'write', 'changes something', 'seeded', true),
	(192, '^claim', 'write', 'changes something', 'seeded', true),
	(193, 'click', 'write', 'changes something', 'seeded', true),
	(194, '^compact', 'write', 'changes something', 'seeded', true),
	(195, '^cordon', 'write', 'changes something', 'seeded', true),
	(196, '^customize', 'write', 'changes something', 'seeded', true),
	(197, '^deactivate', 'write', 'changes something', 'seeded', true),
	(198, '^demote', 'write', 'changes something', 'seeded', true),
	(199, '^deprovision', 'write', 'changes something', 'seeded', true),
	(200, '^deregister', 'write', 'changes something', 'seeded', true);
INSERT INTO public.tools_dangerousoperation VALUES
	(201, '^discard', 'write', 'changes something', 'seeded', true),
	(202, '^dispatch', 'write', 'changes something', 'seeded', true),
	(203, '^donate', 'write', 'changes something', 'seeded', true),
	(204, '^drag', 'write', 'changes something', 'seeded', true),
	(205, '^drain', 'write', 'changes something', 'seeded', true),
	(206, '^draw', 'write', 'changes something', 'seeded', true),
	(207, '^emit', 'write', 'changes something', 'seeded', true),
	(208, '^empty', 'write', 'changes something', 'seeded', true),
	(209, '^end', 'write', 'changes something', 'seeded', true),
	(210, '^enroll', 'write', 'changes something', 'seeded', true),
	(211, '^escalate', 'write', 'changes something', 'seeded', true),
	(212, '^evict', 'write', 'changes something', 'seeded', true),
	(213, '^expire', 'write', 'changes something', 'seeded', true),
	(214, '^expunge', 'write', 'changes something', 'seeded', true),
	(215, 'fill', 'write', 'changes something', 'seeded', true),
	(216, '^flush', 'write', 'changes something', 'seeded', true),
	(217, '^follow', 'write', 'changes something', 'seeded', true),
	(218, '^forget', 'write', 'changes something', 'seeded', true),
	(219, '^format', 'write', 'changes something', 'seeded', true),
	(220, '^hover', 'write', 'changes something', 'seeded', true),
	(221, '^impersonate', 'write', 'changes something', 'seeded', true),
	(222, '^init', 'write', 'changes something', 'seeded', true),
	(223, '^initialize', 'write', 'changes something', 'seeded', true),
	(224, '^initiate', 'write', 'changes something', 'seeded', true),
	(225, '^inject', 'write', 'changes something', 'seeded', true),
	(226, '^invalidate', 'write', 'changes something', 'seeded', true),
	(227, '^isolate', 'write', 'changes something', 'seeded', true),
	(228, '^kick', 'write', 'changes something', 'seeded', true),
	(229, '^launch', 'write', 'changes something', 'seeded', true),
	(230, '^like', 'write', 'changes something', 'seeded', true),
	(231, '^login', 'write', 'changes something', 'seeded', true),
	(232, '^logout', 'write', 'changes something', 'seeded', true),
	(233, '^migrate', 'write', 'changes something', 'seeded', true),
	(234, '^mint', 'write', 'changes something', 'seeded', true),
	(235, 'navigate', 'write', 'changes something', 'seeded', true),
	(236, '^new', 'write', 'changes something', 'seeded', true),
	(237, '^notify', 'write', 'changes something', 'seeded', true),
	(238, '^nuke', 'write', 'changes something', 'seeded', true),
	(239, '^obliterate', 'write', 'changes something', 'seeded', true),
	(240, '^optimize', 'write', 'changes something', 'seeded', true),
	(241, '^populate', 'write', 'changes something', 'seeded', true),
	(242, '^press', 'write', 'changes something', 'seeded', true),
	(243, '^promote', 'write', 'changes something', 'seeded', true),
	(244, '^protect', 'write', 'changes something', 'seeded', true),
	(245, '^provision', 'write', 'changes something', 'seeded', true),
	(246, '^prune', 'write', 'changes something', 'seeded', true),
	(247, '^quarantine', 'write', 'changes something', 'seeded', true),
	(248, '^react', 'write', 'changes something', 'seeded', true),
	(249, '^renew', 'write', 'changes something', 'seeded', true),
	(250, 'renewal', 'write', 'changes something', 'seeded', true),
	(251, '^rewrite', 'write', 'changes something', 'seeded', true),
	(252, '^rotate', 'write', 'changes something', 'seeded', true),
	(253, '^scale', 'write', 'changes something', 'seeded', true),
	(254, '^select', 'write', 'changes something', 'seeded', true),
	(255, '^sell', 'write', 'changes something', 'seeded', true),
	(256, '^sign', 'write', 'changes something', 'seeded', true),
	(257, '^spawn', 'write', 'changes something', 'seeded', true),
	(258, '^stake', 'write', 'changes something', 'seeded', true),
	(259, '^suspend', 'write', 'changes something', 'seeded', true),
	(260, '^swap', 'write', 'changes something', 'seeded', true),
	(261, '^switch', 'write', 'changes something', 'seeded', true),
	(262, '^taint', 'write', 'changes something', 'seeded', true),
	(263, '^trade', 'write', 'changes something', 'seeded', true),
	(264, '^type', 'write', 'changes something', 'seeded', true),
	(265, '^unblock', 'write', 'changes something', 'seeded', true),
	(266, '^unfollow', 'write', 'changes something', 'seeded', true),
	(267, '^unprotect', 'write', 'changes something', 'seeded', true),
	(268, '^unregister', 'write', 'changes something', 'seeded', true),
	(269, '^unstake', 'write', 'changes something', 'seeded', true),
	(270, '^vacuum', 'write', 'changes something', 'seeded', true),
	(271, '^vote', 'write', 'changes something', 'seeded', true),
	(272, '^wire', 'write', 'changes something', 'seeded', true),
	(273, 'go back', 'write', 'changes something', 'seeded', true),
	(274, 'go forward', 'write', 'changes something', 'seeded', true),
	(275, 'press key', 'write', 'changes something', 'seeded', true),
	(276, 'give feedback', 'write', 'changes something', 'seeded', true);
INSERT INTO public.tools_server VALUES
	(1, 'counting', 'stdio', '${FOREGATE_TEST_PYTHON}', '["-I", "-S", "${FOREGATE_TEST_SERVERS}/counting.py", "${FOREGATE_TEST_LEDGER}"]', 'gAAAAABrDAyZddp9vM4-SJQAFHDAvJXEL6xy5Iu2DPJvIWw27FpDbBSenxcplXUQm4EMWFZniLUC92VakxMhQEzqKM8OjaRxwA6cKpVEaUtNKumJhKN8T7oYU4UwiD9jXFgPRwGBnYpQ', '', '', '', '', false, 'shared', NULL, 'none', '', '', '', '{}', '/home/of/the/dump/servers.json', '', '', true, false, false, 0.000000, NULL, NULL, '2026-07-28', '["tools"]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:41.367387+00', '', NULL, '[]', '2026-11-29 11:29:29.922993+00', '2026-11-29 11:29:29.923015+00', NULL, '', '[]', NULL);
INSERT INTO public.tools_serverdiscovery VALUES
	(1, '2026-11-29 11:29:29.923015+00', NULL, NULL, '2026-11-29 11:29:35.951053+00', 0, NULL, NULL, '', 1);
INSERT INTO public.tools_team VALUES
	(1, 'admin', 'dangerous', false, '2026-11-29 11:29:29.883521+00', 1);
INSERT INTO public.tools_tool VALUES
	(1, 'count', 'active', true, false, '', '', NULL, '[]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:35.702198+00', NULL, 1, 1, 1),
	(2, 'count_once', 'active', true, false, '', '', NULL, '[]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:35.702198+00', NULL, 1, 2, 2),
	(3, 'die', 'active', true, false, '', '', NULL, '[]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:35.702198+00', NULL, 1, 5, 5),
	(4, 'fail', 'active', true, false, '', '', NULL, '[]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:35.702198+00', NULL, 1, 4, 4),
	(5, 'look', 'active', true, false, '', '', NULL, '[]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:35.702198+00', NULL, 1, 3, 3);
INSERT INTO public.tools_tooldefinition VALUES
	(1, '20ac7884d1e542118e739b50a9e73f474727655704d65f09f17b28e4d37e270c', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', 'd1d681aa836ac5713a5a72fe823298028a67208598da35b7a05fb24eda7af512', '', 'Count a name: each call counts it once more.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": false, "destructiveHint": false}', 62, '[]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:35.702198+00', NULL, 1),
	(2, 'b530816ea910513b1f10f846cbbba56ef89bdb7980b08461bd9eb7cd2c69746d', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', '70b0f7d7f3461d07671e677ce8765f1b20d1d58aa5c3ed9962f3965a63e64bae', '', 'Set the count of a name, as often as you like.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": false, "idempotentHint": true, "destructiveHint": false}', 65, '[]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:35.702198+00', NULL, 2),
	(3, '45f894ba102ff4e8d97d9102c25e59f5e09aa77aa0be9c4987011675b5427c78', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', '2e3d870a76e1c973e2c472d92bcff3cfca171247dc0320bf05c01e040a4e2915', '', 'Look at a name, without changing anything.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": true}', 60, '[]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:35.702198+00', NULL, 5),
	(4, '9eecb9f512b629e769588f6ccab5713d7a78dc09cf3d9049b207d9cc65675189', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', '8d6bbcef8bc250ae9a5701eb6686a800b454d37f0bae623b9481578af6c1efdb', '', 'Count a name, then report a failure.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": true}', 60, '[]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:35.702198+00', NULL, 4),
	(5, '937ad25a445f5c8e0f23e57dca65dd4512b30a8145261a2e1e569ed4c11d8e1b', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', 'da731755cc548088c02f5c96c1533df05a51bfb4ddc4039d6c92b3ebeb240160', '', 'Count a name, then end the server without an answer.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": false, "destructiveHint": false}', 63, '[]', '2026-11-29 11:29:35.702198+00', '2026-11-29 11:29:35.702198+00', NULL, 3);
INSERT INTO public.tools_toolposting VALUES
	(1, 'answer', 1, false, 3),
	(2, 'anyth', 1, false, 5),
	(3, 'call', 1, false, 1),
	(4, 'chang', 1, false, 5),
	(5, 'count', 4.5, true, 1),
	(6, 'count', 3.5, true, 2),
	(7, 'count', 1.5, false, 3),
	(8, 'count', 1.5, false, 4),
	(9, 'count', 0.5, false, 5),
	(10, 'delay', 0.5, false, 1),
	(11, 'delay', 0.5, false, 2),
	(12, 'delay', 0.5, false, 3),
	(13, 'delay', 0.5, false, 4),
	(14, 'delay', 0.5, false, 5),
	(15, 'die', 2, true, 3),
	(16, 'end', 1, false, 3),
	(17, 'fail', 2, true, 4),
	(18, 'failur', 1, false, 4),
	(19, 'gate', 0.5, false, 1),
	(20, 'gate', 0.5, false, 2),
	(21, 'gate', 0.5, false, 3),
	(22, 'gate', 0.5, false, 4),
	(23, 'gate', 0.5, false, 5),
	(24, 'like', 1, false, 2),
	(25, 'look', 3, true, 5),
	(26, 'ms', 0.5, false, 1),
	(27, 'ms', 0.5, false, 2),
	(28, 'ms', 0.5, false, 3),
	(29, 'ms', 0.5, false, 4),
	(30, 'ms', 0.5, false, 5),
	(31, 'name', 1.5, false, 1),
	(32, 'name', 1.5, false, 2),
	(33, 'name', 1.5, false, 3),
	(34, 'name', 1.5, false, 4),
	(35, 'name', 1.5, false, 5),
	(36, 'often', 1, false, 2),
	(37, 'report', 1, false, 4),
	(38, 'server', 1, false, 3),
	(39, 'set', 1, false, 2),
	(40, 'without', 1, false, 3),
	(41, 'without', 1, false, 5);
INSERT INTO public.tools_tooltext VALUES
	(1, '4d49bcb1ea19c15cb01be7beaecafb1a', 8.5),
	(2, 'fc4623587a6772f2018d005d2185462f', 9.5),
	(5, 'b9b5bcf7ecb417653bc3fd44650b5e52', 9.5),
	(4, 'ab3dcdd0b9c8cff015c9cf8c30426a3c', 8.5),
	(3, '3a0d89f1ef166464aa87ecd3bac447fa', 10.5);
SELECT pg_catalog.setval('public.account_emailaddress_id_seq', 1, false);
SELECT pg_catalog.setval('public.account_emailconfirmation_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_group_id_seq', 4, true);
SELECT pg_catalog.setval('public.auth_group_permissions_id_seq', 58, true);
SELECT pg_catalog.setval('public.auth_permission_id_seq', 312, true);
SELECT pg_catalog.setval('public.auth_user_groups_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_user_id_seq', 1, true);
SELECT pg_catalog.setval('public.auth_user_user_permissions_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accessattempt_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accessfailurelog_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accesslog_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_admin_log_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_content_type_id_seq', 78, true);
SELECT pg_catalog.setval('public.django_migrations_id_seq', 76, true);
SELECT pg_catalog.setval('public.execution_executionevent_id_seq', 7, true);
SELECT pg_catalog.setval('public.execution_payload_id_seq', 3, true);
SELECT pg_catalog.setval('public.execution_runcommand_id_seq', 1, false);
SELECT pg_catalog.setval('public.execution_speculationagreement_id_seq', 1, false);
SELECT pg_catalog.setval('public.execution_speculationbudget_id_seq', 1, false);
SELECT pg_catalog.setval('public.execution_speculationgrant_id_seq', 1, false);
SELECT pg_catalog.setval('public.execution_taskrun_id_seq', 2, true);
SELECT pg_catalog.setval('public.gateway_project_apitoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.gateway_project_auditentry_id_seq', 2, true);
SELECT pg_catalog.setval('public.gateway_project_idempotentrequest_id_seq', 1, false);
SELECT pg_catalog.setval('public.gateway_project_metrictotal_id_seq', 18, true);
SELECT pg_catalog.setval('public.gateway_project_oauthclient_id_seq', 1, false);
SELECT pg_catalog.setval('public.gateway_project_onetimepassword_id_seq', 1, false);
SELECT pg_catalog.setval('public.gateway_project_webhook_id_seq', 1, false);
SELECT pg_catalog.setval('public.gateway_project_webhookdelivery_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_fittedmodel_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_graphsnapshot_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_learnedbinding_id_seq', 5, true);
SELECT pg_catalog.setval('public.graph_outputshape_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_patternembedding_id_seq', 1, true);
SELECT pg_catalog.setval('public.graph_patternrun_id_seq', 1, true);
SELECT pg_catalog.setval('public.graph_relationevidence_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_tooldependency_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_toolusage_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_workflowpattern_id_seq', 1, true);
SELECT pg_catalog.setval('public.learning_adaptivethreshold_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_contribution_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_episodicevent_id_seq', 2, true);
SELECT pg_catalog.setval('public.learning_intentvector_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_predictiontotal_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_thresholdchange_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_toolexperience_id_seq', 1, false);
SELECT pg_catalog.setval('public.mfa_authenticator_id_seq', 1, false);
SELECT pg_catalog.setval('public.oauth2_provider_accesstoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.oauth2_provider_devicegrant_id_seq', 1, false);
SELECT pg_catalog.setval('public.oauth2_provider_grant_id_seq', 1, false);
SELECT pg_catalog.setval('public.oauth2_provider_idtoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.oauth2_provider_refreshtoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.socialaccount_socialaccount_id_seq', 1, false);
SELECT pg_catalog.setval('public.socialaccount_socialapp_id_seq', 1, false);
SELECT pg_catalog.setval('public.socialaccount_socialtoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_category_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_dangerousoperation_id_seq', 276, true);
SELECT pg_catalog.setval('public.tools_membership_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_server_id_seq', 1, true);
SELECT pg_catalog.setval('public.tools_serverdiscovery_id_seq', 1, true);
SELECT pg_catalog.setval('public.tools_serveritems_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_serversignin_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_signinattempt_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_team_id_seq', 1, true);
SELECT pg_catalog.setval('public.tools_tool_id_seq', 5, true);
SELECT pg_catalog.setval('public.tools_tooldefinition_id_seq', 5, true);
SELECT pg_catalog.setval('public.tools_toolembedding_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_toolgroup_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_toolposting_id_seq', 41, true);
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_user_id_email_987c8728_uniq UNIQUE (user_id, email);
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirmation_key_key UNIQUE (key);
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirmation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculationagreement
    ADD CONSTRAINT agreement_once UNIQUE NULLS NOT DISTINCT (tool_id, team_id, definition_hash, launch_hash);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_name_key UNIQUE (name);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_user_id_group_id_94350c0c_uniq UNIQUE (user_id, group_id);
ALTER TABLE ONLY public.auth_user
    ADD CONSTRAINT auth_user_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_user_id_permission_id_14a6b632_uniq UNIQUE (user_id, permission_id);
ALTER TABLE ONLY public.auth_user
    ADD CONSTRAINT auth_user_username_key UNIQUE (username);
ALTER TABLE ONLY public.axes_accessattempt
    ADD CONSTRAINT axes_accessattempt_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.axes_accessattempt
    ADD CONSTRAINT axes_accessattempt_username_ip_address_user_agent_8ea22282_uniq UNIQUE (username, ip_address, user_agent);
ALTER TABLE ONLY public.axes_accessattemptexpiration
    ADD CONSTRAINT axes_accessattemptexpiration_pkey PRIMARY KEY (access_attempt_id);
ALTER TABLE ONLY public.axes_accessfailurelog
    ADD CONSTRAINT axes_accessfailurelog_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.axes_accesslog
    ADD CONSTRAINT axes_accesslog_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_learnedbinding
    ADD CONSTRAINT binding_once_per_team UNIQUE NULLS NOT DISTINCT (team_id, tool_id, parameter, kind, key);
ALTER TABLE ONLY public.learning_contribution
    ADD CONSTRAINT contribution_once_per_tools UNIQUE (team_id, person, tools);
ALTER TABLE ONLY public.tools_tooldefinition
    ADD CONSTRAINT definition_once_per_tool UNIQUE (tool_id, hash);
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_session
    ADD CONSTRAINT django_session_pkey PRIMARY KEY (session_key);
ALTER TABLE ONLY public.tools_toolembedding
    ADD CONSTRAINT embedding_once UNIQUE (model, tool_id, content_hash);
ALTER TABLE ONLY public.execution_executionevent
    ADD CONSTRAINT event_once UNIQUE (run_id, seq);
ALTER TABLE ONLY public.graph_relationevidence
    ADD CONSTRAINT evidence_once_per_source UNIQUE NULLS NOT DISTINCT (relation_id, source, team_id);
ALTER TABLE ONLY public.execution_approval
    ADD CONSTRAINT execution_approval_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_budgetreservation
    ADD CONSTRAINT execution_budgetreservation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_executionevent
    ADD CONSTRAINT execution_executionevent_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_payload
    ADD CONSTRAINT execution_payload_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_runcommand
    ADD CONSTRAINT execution_runcommand_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculation
    ADD CONSTRAINT execution_speculation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculationagreement
    ADD CONSTRAINT execution_speculationagreement_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculationbudget
    ADD CONSTRAINT execution_speculationbudget_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculationbudget
    ADD CONSTRAINT execution_speculationbudget_server_id_key UNIQUE (server_id);
ALTER TABLE ONLY public.execution_speculationcontrol
    ADD CONSTRAINT execution_speculationcontrol_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculationgrant
    ADD CONSTRAINT execution_speculationgrant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_taskrun
    ADD CONSTRAINT execution_taskrun_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_workflowexecution
    ADD CONSTRAINT execution_workflowexecution_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_toolexperience
    ADD CONSTRAINT experience_once_per_team UNIQUE NULLS NOT DISTINCT (tool_id, team_id);
ALTER TABLE ONLY public.graph_fittedmodel
    ADD CONSTRAINT fitted_once_per_team UNIQUE NULLS NOT DISTINCT (team_id, embedding_model);
ALTER TABLE ONLY public.gateway_project_apitoken
    ADD CONSTRAINT gateway_project_apitoken_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.gateway_project_apitoken
    ADD CONSTRAINT gateway_project_apitoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_auditentry
    ADD CONSTRAINT gateway_project_auditentry_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_idempotentrequest
    ADD CONSTRAINT gateway_project_idempotentrequest_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.gateway_project_idempotentrequest
    ADD CONSTRAINT gateway_project_idempotentrequest_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_metrictotal
    ADD CONSTRAINT gateway_project_metrictotal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_oauthclient
    ADD CONSTRAINT gateway_project_oauthclient_client_id_key UNIQUE (client_id);
ALTER TABLE ONLY public.gateway_project_oauthclient
    ADD CONSTRAINT gateway_project_oauthclient_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_onetimepassword
    ADD CONSTRAINT gateway_project_onetimepassword_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.gateway_project_onetimepassword
    ADD CONSTRAINT gateway_project_onetimepassword_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_retiredusername
    ADD CONSTRAINT gateway_project_retiredusername_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY public.gateway_project_webhook
    ADD CONSTRAINT gateway_project_webhook_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_webhookdelivery
    ADD CONSTRAINT gateway_project_webhookdelivery_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_fittedmodel
    ADD CONSTRAINT graph_fittedmodel_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_graphsnapshot
    ADD CONSTRAINT graph_graphsnapshot_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_graphstate
    ADD CONSTRAINT graph_graphstate_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_learnedbinding
    ADD CONSTRAINT graph_learnedbinding_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_outputshape
    ADD CONSTRAINT graph_outputshape_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_patternembedding
    ADD CONSTRAINT graph_patternembedding_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_patternrun
    ADD CONSTRAINT graph_patternrun_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_relationevidence
    ADD CONSTRAINT graph_relationevidence_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_tooldependency
    ADD CONSTRAINT graph_tooldependency_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_toolmetric
    ADD CONSTRAINT graph_toolmetric_pkey PRIMARY KEY (tool_id);
ALTER TABLE ONLY public.graph_toolusage
    ADD CONSTRAINT graph_toolusage_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_workflowpattern
    ADD CONSTRAINT graph_workflowpattern_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_intentvector
    ADD CONSTRAINT intent_embedded_once UNIQUE NULLS NOT DISTINCT (team_id, model, intent_hash);
ALTER TABLE ONLY public.learning_adaptivethreshold
    ADD CONSTRAINT learning_adaptivethreshold_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_contribution
    ADD CONSTRAINT learning_contribution_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_episodicevent
    ADD CONSTRAINT learning_episodicevent_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_eventspool
    ADD CONSTRAINT learning_eventspool_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_intentvector
    ADD CONSTRAINT learning_intentvector_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_predictiontotal
    ADD CONSTRAINT learning_predictiontotal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_thresholdchange
    ADD CONSTRAINT learning_thresholdchange_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_toolexperience
    ADD CONSTRAINT learning_toolexperience_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_unlearnedepisode
    ADD CONSTRAINT learning_unlearnedepisode_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_membership
    ADD CONSTRAINT membership_once UNIQUE (user_id, team_id);
ALTER TABLE ONLY public.gateway_project_metrictotal
    ADD CONSTRAINT metric_sample_once UNIQUE (name, labels);
ALTER TABLE ONLY public.mfa_authenticator
    ADD CONSTRAINT mfa_authenticator_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_id_token_id_key UNIQUE (id_token_id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_source_refresh_token_id_key UNIQUE (source_refresh_token_id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_token_checksum_85319a26_uniq UNIQUE (token_checksum);
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_unique_device_code UNIQUE (device_code);
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_grant_code_key UNIQUE (code);
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_grant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idtoken_jti_key UNIQUE (jti);
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refresht_token_checksum_revoked_46c81d1d_uniq UNIQUE (token_checksum, revoked);
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refreshtoken_access_token_id_key UNIQUE (access_token_id);
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refreshtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_outputshape
    ADD CONSTRAINT output_shape_once_per_team UNIQUE NULLS NOT DISTINCT (tool_id, team_id);
ALTER TABLE ONLY public.graph_patternembedding
    ADD CONSTRAINT pattern_embedded_once UNIQUE (model, pattern_id);
ALTER TABLE ONLY public.graph_workflowpattern
    ADD CONSTRAINT pattern_once_per_team UNIQUE NULLS NOT DISTINCT (team_id, intent_hash, workflow_hash);
ALTER TABLE ONLY public.execution_payload
    ADD CONSTRAINT payload_once_per_place UNIQUE (run_id, kind, task, item);
ALTER TABLE ONLY public.learning_predictiontotal
    ADD CONSTRAINT prediction_total_once UNIQUE NULLS NOT DISTINCT (team_id, tool_id, form, shadow, day, decile);
ALTER TABLE ONLY public.graph_tooldependency
    ADD CONSTRAINT relation_once UNIQUE (source_id, target_id, kind);
ALTER TABLE ONLY public.graph_patternrun
    ADD CONSTRAINT run_once_per_team UNIQUE NULLS NOT DISTINCT (team_id, key);
ALTER TABLE ONLY public.tools_serveritems
    ADD CONSTRAINT server_items_once UNIQUE (server_id, kind);
ALTER TABLE ONLY public.tools_serversignin
    ADD CONSTRAINT sign_in_once UNIQUE NULLS NOT DISTINCT (server_id, user_id);
ALTER TABLE ONLY public.socialaccount_socialaccount
    ADD CONSTRAINT socialaccount_socialaccount_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.socialaccount_socialaccount
    ADD CONSTRAINT socialaccount_socialaccount_provider_uid_fc810c6e_uniq UNIQUE (provider, uid);
ALTER TABLE ONLY public.socialaccount_socialapp
    ADD CONSTRAINT socialaccount_socialapp_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.socialaccount_socialtoken
    ADD CONSTRAINT socialaccount_socialtoken_app_id_account_id_fca4e0ac_uniq UNIQUE (app_id, account_id);
ALTER TABLE ONLY public.socialaccount_socialtoken
    ADD CONSTRAINT socialaccount_socialtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_taskrun
    ADD CONSTRAINT task_once_per_run UNIQUE (run_id, task, item);
ALTER TABLE ONLY public.learning_adaptivethreshold
    ADD CONSTRAINT threshold_once_per_context UNIQUE NULLS NOT DISTINCT (team_id, domain_hash, context_hash);
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tool_once_per_server UNIQUE (server_id, name);
ALTER TABLE ONLY public.tools_category
    ADD CONSTRAINT tools_category_name_key UNIQUE (name);
ALTER TABLE ONLY public.tools_category
    ADD CONSTRAINT tools_category_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_dangerousoperation
    ADD CONSTRAINT tools_dangerousoperation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_membership
    ADD CONSTRAINT tools_membership_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_server
    ADD CONSTRAINT tools_server_name_key UNIQUE (name);
ALTER TABLE ONLY public.tools_server
    ADD CONSTRAINT tools_server_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_serverdiscovery
    ADD CONSTRAINT tools_serverdiscovery_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_serverdiscovery
    ADD CONSTRAINT tools_serverdiscovery_server_id_key UNIQUE (server_id);
ALTER TABLE ONLY public.tools_serveritems
    ADD CONSTRAINT tools_serveritems_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_serversignin
    ADD CONSTRAINT tools_serversignin_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_signinattempt
    ADD CONSTRAINT tools_signinattempt_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_signinattempt
    ADD CONSTRAINT tools_signinattempt_state_digest_key UNIQUE (state_digest);
ALTER TABLE ONLY public.tools_team
    ADD CONSTRAINT tools_team_person_id_key UNIQUE (person_id);
ALTER TABLE ONLY public.tools_team
    ADD CONSTRAINT tools_team_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tools_tool_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_tooldefinition
    ADD CONSTRAINT tools_tooldefinition_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_toolembedding
    ADD CONSTRAINT tools_toolembedding_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_toolgroup
    ADD CONSTRAINT tools_toolgroup_name_key UNIQUE (name);
ALTER TABLE ONLY public.tools_toolgroup
    ADD CONSTRAINT tools_toolgroup_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_toolposting
    ADD CONSTRAINT tools_toolposting_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_tooltext
    ADD CONSTRAINT tools_tooltext_pkey PRIMARY KEY (tool_id);
ALTER TABLE ONLY public.graph_toolusage
    ADD CONSTRAINT usage_once_per_team UNIQUE NULLS NOT DISTINCT (tool_id, team_id);
ALTER TABLE ONLY public.gateway_project_webhook
    ADD CONSTRAINT webhook_name_in_team UNIQUE NULLS NOT DISTINCT (team_id, name);
CREATE INDEX account_emailaddress_email_03be32b2 ON public.account_emailaddress USING btree (email);
CREATE INDEX account_emailaddress_email_03be32b2_like ON public.account_emailaddress USING btree (email varchar_pattern_ops);
CREATE INDEX account_emailaddress_user_id_2c513194 ON public.account_emailaddress USING btree (user_id);
CREATE INDEX account_emailconfirmation_email_address_id_5b7f8c58 ON public.account_emailconfirmation USING btree (email_address_id);
CREATE INDEX account_emailconfirmation_key_f43612bd_like ON public.account_emailconfirmation USING btree (key varchar_pattern_ops);
CREATE UNIQUE INDEX approval_open_once ON public.execution_approval USING btree (run_id, task, item) WHERE ((status)::text = ANY ((ARRAY['pending'::character varying, 'approved'::character varying])::text[]));
CREATE INDEX approval_pending ON public.execution_approval USING btree (expires_at) WHERE ((status)::text = 'pending'::text);
CREATE INDEX audit_by_action ON public.gateway_project_auditentry USING btree (action, at DESC);
CREATE INDEX auth_group_name_a6ea08ec_like ON public.auth_group USING btree (name varchar_pattern_ops);
CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON public.auth_group_permissions USING btree (group_id);
CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON public.auth_group_permissions USING btree (permission_id);
CREATE INDEX auth_permission_content_type_id_2f476e4b ON public.auth_permission USING btree (content_type_id);
CREATE INDEX auth_user_groups_group_id_97559544 ON public.auth_user_groups USING btree (group_id);
CREATE INDEX auth_user_groups_user_id_6a12ed8b ON public.auth_user_groups USING btree (user_id);
CREATE INDEX auth_user_user_permissions_permission_id_1fbb5f2c ON public.auth_user_user_permissions USING btree (permission_id);
CREATE INDEX auth_user_user_permissions_user_id_a95ead1b ON public.auth_user_user_permissions USING btree (user_id);
CREATE INDEX auth_user_username_6821ab7c_like ON public.auth_user USING btree (username varchar_pattern_ops);
CREATE INDEX axes_accessattempt_ip_address_10922d9c ON public.axes_accessattempt USING btree (ip_address);
CREATE INDEX axes_accessattempt_user_agent_ad89678b ON public.axes_accessattempt USING btree (user_agent);
CREATE INDEX axes_accessattempt_user_agent_ad89678b_like ON public.axes_accessattempt USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accessattempt_username_3f2d4ca0 ON public.axes_accessattempt USING btree (username);
CREATE INDEX axes_accessattempt_username_3f2d4ca0_like ON public.axes_accessattempt USING btree (username varchar_pattern_ops);
CREATE INDEX axes_accessfailurelog_ip_address_2e9f5a7f ON public.axes_accessfailurelog USING btree (ip_address);
CREATE INDEX axes_accessfailurelog_user_agent_ea145dda ON public.axes_accessfailurelog USING btree (user_agent);
CREATE INDEX axes_accessfailurelog_user_agent_ea145dda_like ON public.axes_accessfailurelog USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accessfailurelog_username_a8b7e8a4 ON public.axes_accessfailurelog USING btree (username);
CREATE INDEX axes_accessfailurelog_username_a8b7e8a4_like ON public.axes_accessfailurelog USING btree (username varchar_pattern_ops);
CREATE INDEX axes_accesslog_ip_address_86b417e5 ON public.axes_accesslog USING btree (ip_address);
CREATE INDEX axes_accesslog_user_agent_0e659004 ON public.axes_accesslog USING btree (user_agent);
CREATE INDEX axes_accesslog_user_agent_0e659004_like ON public.axes_accesslog USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accesslog_username_df93064b ON public.axes_accesslog USING btree (username);
CREATE INDEX axes_accesslog_username_df93064b_like ON public.axes_accesslog USING btree (username varchar_pattern_ops);
CREATE INDEX command_open ON public.execution_runcommand USING btree (run_id, id) WHERE (applied_at IS NULL);
CREATE UNIQUE INDEX dangerous_pattern_once ON public.tools_dangerousoperation USING btree (upper((pattern)::text));
CREATE INDEX django_admin_log_content_type_id_c4bce8eb ON public.django_admin_log USING btree (content_type_id);
CREATE INDEX django_admin_log_user_id_c564eba6 ON public.django_admin_log USING btree (user_id);
CREATE INDEX django_session_expire_date_a5c62663 ON public.django_session USING btree (expire_date);
CREATE INDEX django_session_session_key_c0390e0f_like ON public.django_session USING btree (session_key varchar_pattern_ops);
CREATE INDEX event_by_context ON public.learning_episodicevent USING btree (COALESCE(team_id, (0)::bigint), context_hash, at DESC) WHERE (context_hash IS NOT NULL);
CREATE INDEX event_by_intent ON public.learning_episodicevent USING btree (intent_hash) WHERE (intent_hash IS NOT NULL);
CREATE INDEX event_by_prediction ON public.learning_episodicevent USING btree (prediction) WHERE (prediction IS NOT NULL);
CREATE INDEX event_by_team ON public.learning_episodicevent USING btree (COALESCE(team_id, (0)::bigint), at DESC);
CREATE INDEX event_of_workflow_outcome ON public.learning_episodicevent USING btree (at) WHERE ((context_hash IS NOT NULL) AND (kind = 5) AND (tool IS NULL));
CREATE INDEX execution_approval_run_id_819785e0 ON public.execution_approval USING btree (run_id);
CREATE INDEX execution_budgetreservation_server_id_47fd3f4e ON public.execution_budgetreservation USING btree (server_id);
CREATE INDEX execution_budgetreservation_team_id_0762d31c ON public.execution_budgetreservation USING btree (team_id);
CREATE INDEX execution_newest ON public.execution_workflowexecution USING btree (created_at DESC);
CREATE INDEX execution_runcommand_run_id_a887f528 ON public.execution_runcommand USING btree (run_id);
CREATE INDEX execution_speculation_team_id_07858ce3 ON public.execution_speculation USING btree (team_id);
CREATE INDEX execution_speculationagreement_team_id_2b8844a7 ON public.execution_speculationagreement USING btree (team_id);
CREATE INDEX execution_speculationagreement_tool_id_098c96c2 ON public.execution_speculationagreement USING btree (tool_id);
CREATE INDEX execution_speculationgrant_team_id_94308ccc ON public.execution_speculationgrant USING btree (team_id);
CREATE INDEX execution_speculationgrant_tool_id_bd02f077 ON public.execution_speculationgrant USING btree (tool_id);
CREATE INDEX execution_workflowexecution_team_id_1770d3a3 ON public.execution_workflowexecution USING btree (team_id);
CREATE INDEX gateway_project_apitoken_digest_3026d090_like ON public.gateway_project_apitoken USING btree (digest varchar_pattern_ops);
CREATE INDEX gateway_project_apitoken_team_id_72dbb670 ON public.gateway_project_apitoken USING btree (team_id);
CREATE INDEX gateway_project_apitoken_tool_group_id_3b907a88 ON public.gateway_project_apitoken USING btree (tool_group_id);
CREATE INDEX gateway_project_apitoken_user_id_095a4f2e ON public.gateway_project_apitoken USING btree (user_id);
CREATE INDEX gateway_project_auditentry_at_dd582f59 ON public.gateway_project_auditentry USING btree (at);
CREATE INDEX gateway_project_auditentry_team_id_0d5ad614 ON public.gateway_project_auditentry USING btree (team_id);
CREATE INDEX gateway_project_auditentry_user_id_cfc5068a ON public.gateway_project_auditentry USING btree (user_id);
CREATE INDEX gateway_project_idempotentrequest_created_at_1f35cc55 ON public.gateway_project_idempotentrequest USING btree (created_at);
CREATE INDEX gateway_project_idempotentrequest_digest_0c5af682_like ON public.gateway_project_idempotentrequest USING btree (digest varchar_pattern_ops);
CREATE INDEX gateway_project_oauthclient_client_id_f1065e9c_like ON public.gateway_project_oauthclient USING btree (client_id varchar_pattern_ops);
CREATE INDEX gateway_project_oauthclient_client_secret_0e35dcb4 ON public.gateway_project_oauthclient USING btree (client_secret);
CREATE INDEX gateway_project_oauthclient_client_secret_0e35dcb4_like ON public.gateway_project_oauthclient USING btree (client_secret varchar_pattern_ops);
CREATE INDEX gateway_project_oauthclient_user_id_b3d2e9e3 ON public.gateway_project_oauthclient USING btree (user_id);
CREATE INDEX gateway_project_onetimepassword_digest_9ef16990_like ON public.gateway_project_onetimepassword USING btree (digest varchar_pattern_ops);
CREATE INDEX gateway_project_onetimepassword_user_id_d32cebc6 ON public.gateway_project_onetimepassword USING btree (user_id);
CREATE INDEX gateway_project_retiredusername_digest_3009323c_like ON public.gateway_project_retiredusername USING btree (digest varchar_pattern_ops);
CREATE INDEX gateway_project_webhook_team_id_52926bf3 ON public.gateway_project_webhook USING btree (team_id);
CREATE INDEX gateway_project_webhookdelivery_webhook_id_baa23c34 ON public.gateway_project_webhookdelivery USING btree (webhook_id);
CREATE UNIQUE INDEX grant_once_per_tool ON public.execution_speculationgrant USING btree (tool_id, team_id) NULLS NOT DISTINCT WHERE (revoked_at IS NULL);
CREATE INDEX graph_fittedmodel_team_id_86eb112d ON public.graph_fittedmodel USING btree (team_id);
CREATE INDEX graph_graphsnapshot_taken_at_2f6ac5d3 ON public.graph_graphsnapshot USING btree (taken_at);
CREATE INDEX graph_learnedbinding_giver_id_a5ac398d ON public.graph_learnedbinding USING btree (giver_id);
CREATE INDEX graph_learnedbinding_team_id_7f13045a ON public.graph_learnedbinding USING btree (team_id);
CREATE INDEX graph_learnedbinding_tool_id_f1880bc0 ON public.graph_learnedbinding USING btree (tool_id);
CREATE INDEX graph_outputshape_team_id_6fc622bb ON public.graph_outputshape USING btree (team_id);
CREATE INDEX graph_outputshape_tool_id_be380954 ON public.graph_outputshape USING btree (tool_id);
CREATE INDEX graph_patternembedding_pattern_id_33135def ON public.graph_patternembedding USING btree (pattern_id);
CREATE INDEX graph_patternrun_pattern_id_169920cd ON public.graph_patternrun USING btree (pattern_id);
CREATE INDEX graph_patternrun_team_id_5eeaea34 ON public.graph_patternrun USING btree (team_id);
CREATE INDEX graph_relationevidence_relation_id_5ef1ef03 ON public.graph_relationevidence USING btree (relation_id);
CREATE INDEX graph_relationevidence_team_id_cf1524d5 ON public.graph_relationevidence USING btree (team_id);
CREATE INDEX graph_tooldependency_source_id_b759ace5 ON public.graph_tooldependency USING btree (source_id);
CREATE INDEX graph_tooldependency_target_id_a6a99055 ON public.graph_tooldependency USING btree (target_id);
CREATE INDEX graph_toolusage_team_id_4c6bec8e ON public.graph_toolusage USING btree (team_id);
CREATE INDEX graph_toolusage_tool_id_8f4f9f6b ON public.graph_toolusage USING btree (tool_id);
CREATE INDEX graph_workflowpattern_team_id_a2e7f113 ON public.graph_workflowpattern USING btree (team_id);
CREATE INDEX learning_adaptivethreshold_team_id_a9e14ab8 ON public.learning_adaptivethreshold USING btree (team_id);
CREATE INDEX learning_contribution_team_id_bc5ef5b0 ON public.learning_contribution USING btree (team_id);
CREATE INDEX learning_intentvector_team_id_e859fd47 ON public.learning_intentvector USING btree (team_id);
CREATE INDEX learning_predictiontotal_team_id_f4d8cce6 ON public.learning_predictiontotal USING btree (team_id);
CREATE INDEX learning_predictiontotal_tool_id_bc2fd1d1 ON public.learning_predictiontotal USING btree (tool_id);
CREATE INDEX learning_thresholdchange_threshold_id_8519fac3 ON public.learning_thresholdchange USING btree (threshold_id);
CREATE INDEX learning_toolexperience_team_id_97ce8333 ON public.learning_toolexperience USING btree (team_id);
CREATE INDEX learning_toolexperience_tool_id_79c02cc6 ON public.learning_toolexperience USING btree (tool_id);
CREATE INDEX learning_unlearnedepisode_team_id_964a9e2b ON public.learning_unlearnedepisode USING btree (team_id);
CREATE INDEX mfa_authenticator_user_id_0c3a50c0 ON public.mfa_authenticator USING btree (user_id);
CREATE INDEX oauth2_prov_token_f_996e8a_idx ON public.oauth2_provider_refreshtoken USING btree (token_family);
CREATE INDEX oauth2_provider_accesstoken_application_id_b22886e1 ON public.oauth2_provider_accesstoken USING btree (application_id);
CREATE INDEX oauth2_provider_accesstoken_token_checksum_85319a26_like ON public.oauth2_provider_accesstoken USING btree (token_checksum varchar_pattern_ops);
CREATE INDEX oauth2_provider_accesstoken_user_id_6e4c9a65 ON public.oauth2_provider_accesstoken USING btree (user_id);
CREATE INDEX oauth2_provider_devicegrant_client_id_229dd06d ON public.oauth2_provider_devicegrant USING btree (client_id);
CREATE INDEX oauth2_provider_devicegrant_client_id_229dd06d_like ON public.oauth2_provider_devicegrant USING btree (client_id varchar_pattern_ops);
CREATE INDEX oauth2_provider_devicegrant_user_id_1cec5156 ON public.oauth2_provider_devicegrant USING btree (user_id);
CREATE INDEX oauth2_provider_grant_application_id_81923564 ON public.oauth2_provider_grant USING btree (application_id);
CREATE INDEX oauth2_provider_grant_code_49ab4ddf_like ON public.oauth2_provider_grant USING btree (code varchar_pattern_ops);
CREATE INDEX oauth2_provider_grant_user_id_e8f62af8 ON public.oauth2_provider_grant USING btree (user_id);
CREATE INDEX oauth2_provider_idtoken_application_id_08c5ff4f ON public.oauth2_provider_idtoken USING btree (application_id);
CREATE INDEX oauth2_provider_idtoken_user_id_dd512b59 ON public.oauth2_provider_idtoken USING btree (user_id);
CREATE INDEX oauth2_provider_refreshtoken_application_id_2d1c311b ON public.oauth2_provider_refreshtoken USING btree (application_id);
CREATE INDEX oauth2_provider_refreshtoken_user_id_da837fce ON public.oauth2_provider_refreshtoken USING btree (user_id);
CREATE UNIQUE INDEX posting_once ON public.tools_toolposting USING btree (lexeme, tool_id) INCLUDE (frequency, in_name);
CREATE INDEX prediction_total_day ON public.learning_predictiontotal USING btree (day);
CREATE INDEX reservation_of_server ON public.execution_budgetreservation USING btree (server_id, reserved_at DESC);
CREATE INDEX run_newest ON public.graph_patternrun USING btree (team_id, at DESC);
CREATE INDEX run_of_caller ON public.execution_workflowexecution USING btree (team_id, "user", created_at DESC);
CREATE UNIQUE INDEX run_once_per_key ON public.execution_workflowexecution USING btree ("user", team_id, idempotency_key) NULLS NOT DISTINCT WHERE (NOT ((idempotency_key)::text = ''::text));
CREATE INDEX run_unfinished ON public.execution_workflowexecution USING btree ("user", team_id) WHERE ((status)::text = ANY ((ARRAY['queued'::character varying, 'running'::character varying, 'paused'::character varying, 'waiting'::character varying, 'unknown'::character varying])::text[]));
CREATE INDEX run_unlearned ON public.execution_workflowexecution USING btree (ended_at) WHERE ((ended_at IS NOT NULL) AND (learned_at IS NULL));
CREATE UNIQUE INDEX server_unprefixed_one ON public.tools_server USING btree (unprefixed) WHERE unprefixed;
CREATE INDEX socialaccount_socialaccount_user_id_8146e70c ON public.socialaccount_socialaccount USING btree (user_id);
CREATE INDEX socialaccount_socialtoken_account_id_951f210e ON public.socialaccount_socialtoken USING btree (account_id);
CREATE INDEX socialaccount_socialtoken_app_id_636a42d7 ON public.socialaccount_socialtoken USING btree (app_id);
CREATE INDEX speculation_newest ON public.execution_speculation USING btree (created_at DESC);
CREATE INDEX speculation_open ON public.execution_speculation USING btree (due_at) WHERE ((outcome)::text = ''::text);
CREATE INDEX speculation_resolved ON public.execution_speculation USING btree (team_id, resolved_at DESC);
CREATE INDEX speculation_with_content ON public.execution_speculation USING btree (created_at) WHERE (content IS NOT NULL);
CREATE UNIQUE INDEX team_name_once ON public.tools_team USING btree (name) WHERE (person_id IS NULL);
CREATE INDEX threshold_history ON public.learning_thresholdchange USING btree (threshold_id, at DESC);
CREATE INDEX tool_listed ON public.tools_tool USING btree (server_id) WHERE (enabled AND ((state)::text = 'active'::text));
CREATE INDEX tools_category_name_ba5de5e8_like ON public.tools_category USING btree (name varchar_pattern_ops);
CREATE INDEX tools_membership_team_id_8587e77d ON public.tools_membership USING btree (team_id);
CREATE INDEX tools_membership_user_id_f9f9de88 ON public.tools_membership USING btree (user_id);
CREATE INDEX tools_server_name_31982140_like ON public.tools_server USING btree (name varchar_pattern_ops);
CREATE INDEX tools_server_team_id_bcffdeec ON public.tools_server USING btree (team_id);
CREATE INDEX tools_serveritems_server_id_375e3c70 ON public.tools_serveritems USING btree (server_id);
CREATE INDEX tools_serversignin_server_id_85a2829d ON public.tools_serversignin USING btree (server_id);
CREATE INDEX tools_serversignin_user_id_559ef922 ON public.tools_serversignin USING btree (user_id);
CREATE INDEX tools_signinattempt_server_id_8418df4b ON public.tools_signinattempt USING btree (server_id);
CREATE INDEX tools_signinattempt_state_digest_9b575f3b_like ON public.tools_signinattempt USING btree (state_digest varchar_pattern_ops);
CREATE INDEX tools_signinattempt_user_id_3758e23d ON public.tools_signinattempt USING btree (user_id);
CREATE INDEX tools_tool_category_id_75826aee ON public.tools_tool USING btree (category_id);
CREATE INDEX tools_tool_definition_id_ddf8c3c6 ON public.tools_tool USING btree (definition_id);
CREATE INDEX tools_tool_listed_id_1c62c203 ON public.tools_tool USING btree (listed_id);
CREATE INDEX tools_tool_server_id_5b62b139 ON public.tools_tool USING btree (server_id);
CREATE INDEX tools_tooldefinition_approved_by_id_3f053659 ON public.tools_tooldefinition USING btree (approved_by_id);
CREATE INDEX tools_tooldefinition_tool_id_a7e3abf9 ON public.tools_tooldefinition USING btree (tool_id);
CREATE INDEX tools_toolembedding_tool_id_6c78e71c ON public.tools_toolembedding USING btree (tool_id);
CREATE INDEX tools_toolgroup_name_bdde2ea6_like ON public.tools_toolgroup USING btree (name varchar_pattern_ops);
CREATE INDEX tools_toolgroup_team_id_46841269 ON public.tools_toolgroup USING btree (team_id);
CREATE INDEX tools_toolposting_tool_id_41c974a9 ON public.tools_toolposting USING btree (tool_id);
CREATE UNIQUE INDEX unique_authenticator_type ON public.mfa_authenticator USING btree (user_id, type) WHERE ((type)::text = ANY ((ARRAY['totp'::character varying, 'recovery_codes'::character varying])::text[]));
CREATE UNIQUE INDEX unique_primary_email ON public.account_emailaddress USING btree (user_id, "primary") WHERE "primary";
CREATE INDEX webhook_delivery_due ON public.gateway_project_webhookdelivery USING btree (next_attempt_at) WHERE ((status)::text = 'pending'::text);
CREATE INDEX webhook_delivery_ended ON public.gateway_project_webhookdelivery USING btree (ended_at);
CREATE INDEX webhook_delivery_newest ON public.gateway_project_webhookdelivery USING btree (webhook_id, occurred_at DESC);
CREATE INDEX webhook_delivery_waiting ON public.gateway_project_webhookdelivery USING btree (webhook_id) WHERE ((status)::text = 'pending'::text);
CREATE TRIGGER add_private_team AFTER INSERT OR UPDATE OF username ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.tools_add_private_team();
CREATE TRIGGER execution_account_deleted AFTER DELETE ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.execution_follow_account();
CREATE TRIGGER execution_account_renamed AFTER UPDATE OF username ON public.auth_user FOR EACH ROW WHEN (((old.username)::text <> (new.username)::text)) EXECUTE FUNCTION public.execution_follow_account();
CREATE TRIGGER gateway_user_deleted AFTER DELETE ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.gateway_retire_user_name();
CREATE TRIGGER gateway_user_named BEFORE INSERT OR UPDATE OF username ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.gateway_refuse_user_name();
CREATE TRIGGER gateway_user_renamed AFTER UPDATE OF username ON public.auth_user FOR EACH ROW WHEN (((old.username)::text <> (new.username)::text)) EXECUTE FUNCTION public.gateway_retire_user_name();
CREATE TRIGGER notify_catalogue AFTER UPDATE OF is_active ON public.auth_user FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE ON public.execution_speculationgrant FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF name ON public.tools_category FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF pattern, danger, enabled ON public.tools_dangerousoperation FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE ON public.tools_membership FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF name, team_id, transport, command, args, env_sealed, cwd, enabled, trusted, price_per_call, connect_timeout_s, call_timeout_s, description, instructions, url, headers_sealed, private_network, session, idle_stop_s, "authorization", oauth_client_id, oauth_client_secret_sealed, oauth_scopes, unprefixed, capabilities ON public.tools_server FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE ON public.tools_serversignin FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF approve_from ON public.tools_team FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF name, state, enabled, category_id, definition_id, danger_override, pinned, approval, repeatable_override, ignored_places ON public.tools_tool FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF name, team_id, servers, categories, tools ON public.tools_toolgroup FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_graph_delete AFTER DELETE ON public.graph_fittedmodel REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_fittedmodel_notify();
CREATE TRIGGER notify_graph_delete AFTER DELETE ON public.graph_patternembedding REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_patternembedding_notify();
CREATE TRIGGER notify_graph_delete AFTER DELETE ON public.graph_relationevidence REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_relationevidence_notify();
CREATE TRIGGER notify_graph_delete AFTER DELETE ON public.graph_tooldependency REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_tooldependency_notify();
CREATE TRIGGER notify_graph_delete AFTER DELETE ON public.graph_workflowpattern REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_workflowpattern_notify();
CREATE TRIGGER notify_graph_insert AFTER INSERT ON public.graph_fittedmodel REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_fittedmodel_notify();
CREATE TRIGGER notify_graph_insert AFTER INSERT ON public.graph_patternembedding REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_patternembedding_notify();
CREATE TRIGGER notify_graph_insert AFTER INSERT ON public.graph_relationevidence REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_relationevidence_notify();
CREATE TRIGGER notify_graph_insert AFTER INSERT ON public.graph_tooldependency REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_tooldependency_notify();
CREATE TRIGGER notify_graph_insert AFTER INSERT ON public.graph_workflowpattern REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_workflowpattern_notify();
CREATE TRIGGER notify_graph_update AFTER UPDATE ON public.graph_fittedmodel REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_fittedmodel_notify();
CREATE TRIGGER notify_graph_update AFTER UPDATE ON public.graph_patternembedding REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_patternembedding_notify();
CREATE TRIGGER notify_graph_update AFTER UPDATE ON public.graph_relationevidence REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_relationevidence_notify();
CREATE TRIGGER notify_graph_update AFTER UPDATE ON public.graph_tooldependency REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_tooldependency_notify();
CREATE TRIGGER notify_graph_update AFTER UPDATE ON public.graph_workflowpattern REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_workflowpattern_notify();
CREATE TRIGGER notify_of_migrations AFTER INSERT OR DELETE ON public.django_migrations FOR EACH STATEMENT EXECUTE FUNCTION public.gateway_notify_of_migrations();
CREATE TRIGGER notify_search AFTER INSERT OR DELETE OR UPDATE ON public.tools_toolembedding FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_search();
CREATE TRIGGER notify_search AFTER INSERT OR DELETE OR UPDATE ON public.tools_tooltext FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_search();
CREATE TRIGGER notify_speculation AFTER INSERT OR DELETE OR UPDATE ON public.execution_speculationbudget FOR EACH STATEMENT EXECUTE FUNCTION public.execution_notify_speculation();
CREATE TRIGGER notify_speculation AFTER INSERT OR DELETE OR UPDATE ON public.execution_speculationcontrol FOR EACH STATEMENT EXECUTE FUNCTION public.execution_notify_speculation();
CREATE TRIGGER tell_webhooks AFTER INSERT ON public.execution_approval FOR EACH ROW WHEN (((new.status)::text = 'pending'::text)) EXECUTE FUNCTION public.gateway_tell_approval();
CREATE TRIGGER tell_webhooks AFTER UPDATE OF status ON public.execution_workflowexecution FOR EACH ROW WHEN ((((new.status)::text = 'failed'::text) AND ((old.status)::text <> 'failed'::text))) EXECUTE FUNCTION public.gateway_tell_failure();
CREATE TRIGGER tell_webhooks AFTER UPDATE OF state ON public.tools_tool FOR EACH ROW WHEN ((((new.state)::text = 'quarantined'::text) AND ((old.state)::text <> 'quarantined'::text))) EXECUTE FUNCTION public.gateway_tell_change();
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_user_id_2c513194_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirm_email_address_id_5b7f8c58_fk_account_e FOREIGN KEY (email_address_id) REFERENCES public.account_emailaddress(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_group_id_97559544_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_user_id_6a12ed8b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permi_permission_id_1fbb5f2c_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_user_id_a95ead1b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.axes_accessattemptexpiration
    ADD CONSTRAINT axes_accessattemptex_access_attempt_id_6b73a47a_fk_axes_acce FOREIGN KEY (access_attempt_id) REFERENCES public.axes_accessattempt(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_content_type_id_c4bce8eb_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_user_id_c564eba6_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_episodicevent
    ADD CONSTRAINT event_of_team FOREIGN KEY (team_id) REFERENCES public.tools_team(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.execution_approval
    ADD CONSTRAINT execution_approval_run_id_819785e0_fk_execution FOREIGN KEY (run_id) REFERENCES public.execution_workflowexecution(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_budgetreservation
    ADD CONSTRAINT execution_budgetrese_server_id_47fd3f4e_fk_tools_ser FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_budgetreservation
    ADD CONSTRAINT execution_budgetreservation_team_id_0762d31c_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_executionevent
    ADD CONSTRAINT execution_executione_run_id_2cddd88f_fk_execution FOREIGN KEY (run_id) REFERENCES public.execution_workflowexecution(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_payload
    ADD CONSTRAINT execution_payload_run_id_ac216f23_fk_execution FOREIGN KEY (run_id) REFERENCES public.execution_workflowexecution(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_runcommand
    ADD CONSTRAINT execution_runcommand_run_id_a887f528_fk_execution FOREIGN KEY (run_id) REFERENCES public.execution_workflowexecution(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculationbudget
    ADD CONSTRAINT execution_speculatio_server_id_ea416372_fk_tools_ser FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculationagreement
    ADD CONSTRAINT execution_speculatio_team_id_2b8844a7_fk_tools_tea FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculationagreement
    ADD CONSTRAINT execution_speculatio_tool_id_098c96c2_fk_tools_too FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculation
    ADD CONSTRAINT execution_speculation_team_id_07858ce3_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculationgrant
    ADD CONSTRAINT execution_speculationgrant_team_id_94308ccc_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculationgrant
    ADD CONSTRAINT execution_speculationgrant_tool_id_bd02f077_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_taskrun
    ADD CONSTRAINT execution_taskrun_run_id_e3809042_fk_execution FOREIGN KEY (run_id) REFERENCES public.execution_workflowexecution(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_workflowexecution
    ADD CONSTRAINT execution_workflowexecution_team_id_1770d3a3_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_apitoken
    ADD CONSTRAINT gateway_project_apit_tool_group_id_3b907a88_fk_tools_too FOREIGN KEY (tool_group_id) REFERENCES public.tools_toolgroup(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_apitoken
    ADD CONSTRAINT gateway_project_apitoken_team_id_72dbb670_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_apitoken
    ADD CONSTRAINT gateway_project_apitoken_user_id_095a4f2e_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_auditentry
    ADD CONSTRAINT gateway_project_auditentry_team_id_0d5ad614_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_auditentry
    ADD CONSTRAINT gateway_project_auditentry_user_id_cfc5068a_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_oauthclient
    ADD CONSTRAINT gateway_project_oauthclient_user_id_b3d2e9e3_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_onetimepassword
    ADD CONSTRAINT gateway_project_onet_user_id_d32cebc6_fk_auth_user FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_webhookdelivery
    ADD CONSTRAINT gateway_project_webh_webhook_id_baa23c34_fk_gateway_p FOREIGN KEY (webhook_id) REFERENCES public.gateway_project_webhook(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_webhook
    ADD CONSTRAINT gateway_project_webhook_team_id_52926bf3_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_fittedmodel
    ADD CONSTRAINT graph_fittedmodel_team_id_86eb112d_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_learnedbinding
    ADD CONSTRAINT graph_learnedbinding_giver_id_a5ac398d_fk_tools_tool_id FOREIGN KEY (giver_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_learnedbinding
    ADD CONSTRAINT graph_learnedbinding_team_id_7f13045a_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_learnedbinding
    ADD CONSTRAINT graph_learnedbinding_tool_id_f1880bc0_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_outputshape
    ADD CONSTRAINT graph_outputshape_team_id_6fc622bb_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_outputshape
    ADD CONSTRAINT graph_outputshape_tool_id_be380954_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_patternembedding
    ADD CONSTRAINT graph_patternembeddi_pattern_id_33135def_fk_graph_wor FOREIGN KEY (pattern_id) REFERENCES public.graph_workflowpattern(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_patternrun
    ADD CONSTRAINT graph_patternrun_pattern_id_169920cd_fk_graph_wor FOREIGN KEY (pattern_id) REFERENCES public.graph_workflowpattern(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_patternrun
    ADD CONSTRAINT graph_patternrun_team_id_5eeaea34_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_relationevidence
    ADD CONSTRAINT graph_relationeviden_relation_id_5ef1ef03_fk_graph_too FOREIGN KEY (relation_id) REFERENCES public.graph_tooldependency(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_relationevidence
    ADD CONSTRAINT graph_relationevidence_team_id_cf1524d5_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_tooldependency
    ADD CONSTRAINT graph_tooldependency_source_id_b759ace5_fk_tools_tool_id FOREIGN KEY (source_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_tooldependency
    ADD CONSTRAINT graph_tooldependency_target_id_a6a99055_fk_tools_tool_id FOREIGN KEY (target_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_toolmetric
    ADD CONSTRAINT graph_toolmetric_tool_id_4b2b14d7_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_toolusage
    ADD CONSTRAINT graph_toolusage_team_id_4c6bec8e_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_toolusage
    ADD CONSTRAINT graph_toolusage_tool_id_8f4f9f6b_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_workflowpattern
    ADD CONSTRAINT graph_workflowpattern_team_id_a2e7f113_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_adaptivethreshold
    ADD CONSTRAINT learning_adaptivethreshold_team_id_a9e14ab8_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_contribution
    ADD CONSTRAINT learning_contribution_team_id_bc5ef5b0_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_intentvector
    ADD CONSTRAINT learning_intentvector_team_id_e859fd47_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_predictiontotal
    ADD CONSTRAINT learning_predictiontotal_team_id_f4d8cce6_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_predictiontotal
    ADD CONSTRAINT learning_predictiontotal_tool_id_bc2fd1d1_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_thresholdchange
    ADD CONSTRAINT learning_thresholdch_threshold_id_8519fac3_fk_learning_ FOREIGN KEY (threshold_id) REFERENCES public.learning_adaptivethreshold(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_toolexperience
    ADD CONSTRAINT learning_toolexperience_team_id_97ce8333_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_toolexperience
    ADD CONSTRAINT learning_toolexperience_tool_id_79c02cc6_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_unlearnedepisode
    ADD CONSTRAINT learning_unlearnedepisode_team_id_964a9e2b_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.mfa_authenticator
    ADD CONSTRAINT mfa_authenticator_user_id_0c3a50c0_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_acce_application_id_b22886e1_fk_gateway_p FOREIGN KEY (application_id) REFERENCES public.gateway_project_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_acce_id_token_id_85db651b_fk_oauth2_pr FOREIGN KEY (id_token_id) REFERENCES public.oauth2_provider_idtoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_acce_source_refresh_token_e66fbc72_fk_oauth2_pr FOREIGN KEY (source_refresh_token_id) REFERENCES public.oauth2_provider_refreshtoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_user_id_6e4c9a65_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_user_id_1cec5156_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_gran_application_id_81923564_fk_gateway_p FOREIGN KEY (application_id) REFERENCES public.gateway_project_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_grant_user_id_e8f62af8_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idto_application_id_08c5ff4f_fk_gateway_p FOREIGN KEY (application_id) REFERENCES public.gateway_project_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idtoken_user_id_dd512b59_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refr_access_token_id_775e84e8_fk_oauth2_pr FOREIGN KEY (access_token_id) REFERENCES public.oauth2_provider_accesstoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refr_application_id_2d1c311b_fk_gateway_p FOREIGN KEY (application_id) REFERENCES public.gateway_project_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refreshtoken_user_id_da837fce_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.socialaccount_socialtoken
    ADD CONSTRAINT socialaccount_social_account_id_951f210e_fk_socialacc FOREIGN KEY (account_id) REFERENCES public.socialaccount_socialaccount(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.socialaccount_socialtoken
    ADD CONSTRAINT socialaccount_social_app_id_636a42d7_fk_socialacc FOREIGN KEY (app_id) REFERENCES public.socialaccount_socialapp(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.socialaccount_socialaccount
    ADD CONSTRAINT socialaccount_socialaccount_user_id_8146e70c_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_membership
    ADD CONSTRAINT tools_membership_team_id_8587e77d_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_membership
    ADD CONSTRAINT tools_membership_user_id_f9f9de88_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_server
    ADD CONSTRAINT tools_server_team_id_bcffdeec_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_serverdiscovery
    ADD CONSTRAINT tools_serverdiscovery_server_id_b33f8aa7_fk_tools_server_id FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_serveritems
    ADD CONSTRAINT tools_serveritems_server_id_375e3c70_fk_tools_server_id FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_serversignin
    ADD CONSTRAINT tools_serversignin_server_id_85a2829d_fk_tools_server_id FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_serversignin
    ADD CONSTRAINT tools_serversignin_user_id_559ef922_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_signinattempt
    ADD CONSTRAINT tools_signinattempt_server_id_8418df4b_fk_tools_server_id FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_signinattempt
    ADD CONSTRAINT tools_signinattempt_user_id_3758e23d_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_team
    ADD CONSTRAINT tools_team_person_id_08fe374c_fk_auth_user_id FOREIGN KEY (person_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tools_tool_category_id_75826aee_fk_tools_category_id FOREIGN KEY (category_id) REFERENCES public.tools_category(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tools_tool_definition_id_ddf8c3c6_fk_tools_tooldefinition_id FOREIGN KEY (definition_id) REFERENCES public.tools_tooldefinition(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tools_tool_listed_id_1c62c203_fk_tools_tooldefinition_id FOREIGN KEY (listed_id) REFERENCES public.tools_tooldefinition(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tools_tool_server_id_5b62b139_fk_tools_server_id FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tooldefinition
    ADD CONSTRAINT tools_tooldefinition_approved_by_id_3f053659_fk_auth_user_id FOREIGN KEY (approved_by_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tooldefinition
    ADD CONSTRAINT tools_tooldefinition_tool_id_a7e3abf9_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_toolembedding
    ADD CONSTRAINT tools_toolembedding_tool_id_6c78e71c_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_toolgroup
    ADD CONSTRAINT tools_toolgroup_team_id_46841269_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_toolposting
    ADD CONSTRAINT tools_toolposting_tool_id_41c974a9_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tooltext
    ADD CONSTRAINT tools_tooltext_tool_id_a3192961_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
