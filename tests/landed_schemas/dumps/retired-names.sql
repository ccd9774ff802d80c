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
CREATE FUNCTION public.gateway_queue_deliveries(about text, team bigint, content jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO gateway_project_webhookdelivery (
        webhook_id, event, data, occurred_at, status, attempts, next_attempt_at, error)
    SELECT hook.id, about, content, now(), 'pending', 0, now(), ''
    FROM gateway_project_webhook AS hook
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
    confidence double precision NOT NULL,
    ranked_confidence double precision NOT NULL,
    threshold double precision NOT NULL,
    admitted boolean NOT NULL,
    runnable boolean NOT NULL,
    tools bigint[] NOT NULL,
    workflow_digest character varying(64) NOT NULL,
    saves_ms double precision,
    tokens integer,
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
    team_id bigint,
    fallback character varying(40) NOT NULL,
    tasks jsonb,
    took_ms double precision,
    CONSTRAINT execution_speculation_tokens_check CHECK ((tokens >= 0)),
    CONSTRAINT speculation_confidence_in_range CHECK (((confidence >= (0.0)::double precision) AND (confidence <= (1.0)::double precision))),
    CONSTRAINT speculation_outcome_known CHECK (((outcome)::text = ANY ((ARRAY[''::character varying, 'hit'::character varying, 'miss'::character varying, 'rejected'::character varying, 'modified'::character varying, 'expired'::character varying])::text[]))),
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
    tool_group character varying(64) NOT NULL,
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
    team_id bigint,
    user_id integer NOT NULL,
    last_used_at timestamp with time zone,
    tool_group_id bigint,
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
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    team_id bigint,
    success_weight double precision NOT NULL,
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
    content bytea NOT NULL,
    stored_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    team_id bigint,
    weight double precision DEFAULT 1.0
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
    extra jsonb NOT NULL,
    source text NOT NULL,
    description text NOT NULL,
    instructions text NOT NULL,
    enabled boolean NOT NULL,
    trusted boolean NOT NULL,
    price_per_call numeric(12,6),
    connect_timeout_s double precision,
    call_timeout_s double precision,
    protocol_version character varying(20) NOT NULL,
    discovered_at timestamp with time zone,
    last_connected_at timestamp with time zone,
    last_error text NOT NULL,
    last_error_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    team_id bigint,
    unprefixed boolean NOT NULL,
    "authorization" character varying(15) NOT NULL,
    headers_sealed text NOT NULL,
    idle_stop_s double precision,
    oauth_client_id text NOT NULL,
    oauth_client_secret_sealed text NOT NULL,
    oauth_scopes text NOT NULL,
    private_network boolean NOT NULL,
    session character varying(10) NOT NULL,
    url text NOT NULL,
    capabilities jsonb,
    url_sealed text NOT NULL,
    last_output jsonb NOT NULL,
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
    created_at timestamp with time zone NOT NULL,
    approve_from character varying(12) NOT NULL,
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
    danger_override character varying(12) NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    category_id bigint,
    server_id bigint NOT NULL,
    definition_id bigint,
    listed_id bigint,
    pinned boolean NOT NULL,
    approval character varying(6) NOT NULL,
    repeatable_override boolean,
    ignored_places jsonb NOT NULL,
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
    listed_at timestamp with time zone NOT NULL,
    approved_at timestamp with time zone,
    approved_by_id integer,
    tool_id bigint NOT NULL,
    findings jsonb NOT NULL,
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
	(2, 1, 132),
	(3, 1, 136),
	(4, 1, 12),
	(5, 1, 76),
	(6, 1, 16),
	(7, 1, 112),
	(8, 1, 20),
	(9, 1, 92),
	(10, 2, 4),
	(11, 2, 132),
	(12, 2, 136),
	(13, 2, 12),
	(14, 2, 76),
	(15, 2, 16),
	(16, 2, 112),
	(17, 2, 20),
	(18, 2, 92),
	(19, 3, 4),
	(20, 3, 132),
	(21, 3, 136),
	(22, 3, 73),
	(23, 3, 10),
	(24, 3, 74),
	(25, 3, 12),
	(26, 3, 76),
	(27, 3, 13),
	(28, 3, 14),
	(29, 3, 16),
	(30, 3, 112),
	(31, 3, 15),
	(32, 3, 20),
	(33, 3, 91),
	(34, 3, 92),
	(35, 4, 4),
	(36, 4, 132),
	(37, 4, 136),
	(38, 4, 10),
	(39, 4, 138),
	(40, 4, 12),
	(41, 4, 13),
	(42, 4, 14),
	(43, 4, 15),
	(44, 4, 16),
	(45, 4, 144),
	(46, 4, 141),
	(47, 4, 142),
	(48, 4, 20),
	(49, 4, 143),
	(50, 4, 150),
	(51, 4, 152),
	(52, 4, 140),
	(53, 4, 73),
	(54, 4, 74),
	(55, 4, 76),
	(56, 4, 91),
	(57, 4, 92),
	(58, 4, 112);
INSERT INTO public.auth_permission VALUES
	(1, 'Can add category', 1, 'add_category'),
	(2, 'Can change category', 1, 'change_category'),
	(3, 'Can delete category', 1, 'delete_category'),
	(4, 'Can view category', 1, 'view_category'),
	(5, 'Can add team', 2, 'add_team'),
	(6, 'Can change team', 2, 'change_team'),
	(7, 'Can delete team', 2, 'delete_team'),
	(8, 'Can view team', 2, 'view_team'),
	(9, 'Can add tool', 3, 'add_tool'),
	(10, 'Can change tool', 3, 'change_tool'),
	(11, 'Can delete tool', 3, 'delete_tool'),
	(12, 'Can view tool', 3, 'view_tool'),
	(13, 'Can add dangerous operation', 4, 'add_dangerousoperation'),
	(14, 'Can change dangerous operation', 4, 'change_dangerousoperation'),
	(15, 'Can delete dangerous operation', 4, 'delete_dangerousoperation'),
	(16, 'Can view dangerous operation', 4, 'view_dangerousoperation'),
	(17, 'Can add server', 5, 'add_server'),
	(18, 'Can change server', 5, 'change_server'),
	(19, 'Can delete server', 5, 'delete_server'),
	(20, 'Can view server', 5, 'view_server'),
	(21, 'Can add membership', 6, 'add_membership'),
	(22, 'Can change membership', 6, 'change_membership'),
	(23, 'Can delete membership', 6, 'delete_membership'),
	(24, 'Can view membership', 6, 'view_membership'),
	(25, 'Can add tool text', 7, 'add_tooltext'),
	(26, 'Can change tool text', 7, 'change_tooltext'),
	(27, 'Can delete tool text', 7, 'delete_tooltext'),
	(28, 'Can view tool text', 7, 'view_tooltext'),
	(29, 'Can add tool definition', 8, 'add_tooldefinition'),
	(30, 'Can change tool definition', 8, 'change_tooldefinition'),
	(31, 'Can delete tool definition', 8, 'delete_tooldefinition'),
	(32, 'Can view tool definition', 8, 'view_tooldefinition'),
	(33, 'Can add tool embedding', 9, 'add_toolembedding'),
	(34, 'Can change tool embedding', 9, 'change_toolembedding'),
	(35, 'Can delete tool embedding', 9, 'delete_toolembedding'),
	(36, 'Can view tool embedding', 9, 'view_toolembedding'),
	(37, 'Can add tool posting', 10, 'add_toolposting'),
	(38, 'Can change tool posting', 10, 'change_toolposting'),
	(39, 'Can delete tool posting', 10, 'delete_toolposting'),
	(40, 'Can view tool posting', 10, 'view_toolposting'),
	(41, 'Can add server sign in', 11, 'add_serversignin'),
	(42, 'Can change server sign in', 11, 'change_serversignin'),
	(43, 'Can delete server sign in', 11, 'delete_serversignin'),
	(44, 'Can view server sign in', 11, 'view_serversignin'),
	(45, 'Can add sign in attempt', 12, 'add_signinattempt'),
	(46, 'Can change sign in attempt', 12, 'change_signinattempt'),
	(47, 'Can delete sign in attempt', 12, 'delete_signinattempt'),
	(48, 'Can view sign in attempt', 12, 'view_signinattempt'),
	(49, 'Can add server items', 13, 'add_serveritems'),
	(50, 'Can change server items', 13, 'change_serveritems'),
	(51, 'Can delete server items', 13, 'delete_serveritems'),
	(52, 'Can view server items', 13, 'view_serveritems'),
	(53, 'Can add server discovery', 14, 'add_serverdiscovery'),
	(54, 'Can change server discovery', 14, 'change_serverdiscovery'),
	(55, 'Can delete server discovery', 14, 'delete_serverdiscovery'),
	(56, 'Can view server discovery', 14, 'view_serverdiscovery'),
	(57, 'Can add tool group', 15, 'add_toolgroup'),
	(58, 'Can change tool group', 15, 'change_toolgroup'),
	(59, 'Can delete tool group', 15, 'delete_toolgroup'),
	(60, 'Can view tool group', 15, 'view_toolgroup'),
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
	(85, 'Can add output shape', 22, 'add_outputshape'),
	(86, 'Can change output shape', 22, 'change_outputshape'),
	(87, 'Can delete output shape', 22, 'delete_outputshape'),
	(88, 'Can view output shape', 22, 'view_outputshape'),
	(89, 'Can add workflow pattern', 23, 'add_workflowpattern'),
	(90, 'Can change workflow pattern', 23, 'change_workflowpattern'),
	(91, 'Can delete workflow pattern', 23, 'delete_workflowpattern'),
	(92, 'Can view workflow pattern', 23, 'view_workflowpattern'),
	(93, 'Can add recorded run', 24, 'add_patternrun'),
	(94, 'Can change recorded run', 24, 'change_patternrun'),
	(95, 'Can delete recorded run', 24, 'delete_patternrun'),
	(96, 'Can view recorded run', 24, 'view_patternrun'),
	(97, 'Can add pattern embedding', 25, 'add_patternembedding'),
	(98, 'Can change pattern embedding', 25, 'change_patternembedding'),
	(99, 'Can delete pattern embedding', 25, 'delete_patternembedding'),
	(100, 'Can view pattern embedding', 25, 'view_patternembedding');
INSERT INTO public.auth_permission VALUES
	(101, 'Can add fitted model', 26, 'add_fittedmodel'),
	(102, 'Can change fitted model', 26, 'change_fittedmodel'),
	(103, 'Can delete fitted model', 26, 'delete_fittedmodel'),
	(104, 'Can view fitted model', 26, 'view_fittedmodel'),
	(105, 'Can add learned binding', 27, 'add_learnedbinding'),
	(106, 'Can change learned binding', 27, 'change_learnedbinding'),
	(107, 'Can delete learned binding', 27, 'delete_learnedbinding'),
	(108, 'Can view learned binding', 27, 'view_learnedbinding'),
	(109, 'Can add run', 28, 'add_workflowexecution'),
	(110, 'Can change run', 28, 'change_workflowexecution'),
	(111, 'Can delete run', 28, 'delete_workflowexecution'),
	(112, 'Can view run', 28, 'view_workflowexecution'),
	(113, 'Can add run task', 29, 'add_taskrun'),
	(114, 'Can change run task', 29, 'change_taskrun'),
	(115, 'Can delete run task', 29, 'delete_taskrun'),
	(116, 'Can view run task', 29, 'view_taskrun'),
	(117, 'Can add run command', 30, 'add_runcommand'),
	(118, 'Can change run command', 30, 'change_runcommand'),
	(119, 'Can delete run command', 30, 'delete_runcommand'),
	(120, 'Can view run command', 30, 'view_runcommand'),
	(121, 'Can add payload', 31, 'add_payload'),
	(122, 'Can change payload', 31, 'change_payload'),
	(123, 'Can delete payload', 31, 'delete_payload'),
	(124, 'Can view payload', 31, 'view_payload'),
	(125, 'Can add run event', 32, 'add_executionevent'),
	(126, 'Can change run event', 32, 'change_executionevent'),
	(127, 'Can delete run event', 32, 'delete_executionevent'),
	(128, 'Can view run event', 32, 'view_executionevent'),
	(129, 'Can add approval', 33, 'add_approval'),
	(130, 'Can change approval', 33, 'change_approval'),
	(131, 'Can delete approval', 33, 'delete_approval'),
	(132, 'Can view approval', 33, 'view_approval'),
	(133, 'Can add speculation', 34, 'add_speculation'),
	(134, 'Can change speculation', 34, 'change_speculation'),
	(135, 'Can delete speculation', 34, 'delete_speculation'),
	(136, 'Can view speculation', 34, 'view_speculation'),
	(137, 'Can add speculation switch', 35, 'add_speculationcontrol'),
	(138, 'Can change speculation switch', 35, 'change_speculationcontrol'),
	(139, 'Can delete speculation switch', 35, 'delete_speculationcontrol'),
	(140, 'Can view speculation switch', 35, 'view_speculationcontrol'),
	(141, 'Can add speculation grant', 36, 'add_speculationgrant'),
	(142, 'Can change speculation grant', 36, 'change_speculationgrant'),
	(143, 'Can delete speculation grant', 36, 'delete_speculationgrant'),
	(144, 'Can view speculation grant', 36, 'view_speculationgrant'),
	(145, 'Can add reserved money', 37, 'add_budgetreservation'),
	(146, 'Can change reserved money', 37, 'change_budgetreservation'),
	(147, 'Can delete reserved money', 37, 'delete_budgetreservation'),
	(148, 'Can view reserved money', 37, 'view_budgetreservation'),
	(149, 'Can add comparison of results', 38, 'add_speculationagreement'),
	(150, 'Can change comparison of results', 38, 'change_speculationagreement'),
	(151, 'Can delete comparison of results', 38, 'delete_speculationagreement'),
	(152, 'Can view comparison of results', 38, 'view_speculationagreement'),
	(153, 'Can add speculation budget', 39, 'add_speculationbudget'),
	(154, 'Can change speculation budget', 39, 'change_speculationbudget'),
	(155, 'Can delete speculation budget', 39, 'delete_speculationbudget'),
	(156, 'Can view speculation budget', 39, 'view_speculationbudget'),
	(157, 'Can add tool experience', 40, 'add_toolexperience'),
	(158, 'Can change tool experience', 40, 'change_toolexperience'),
	(159, 'Can delete tool experience', 40, 'delete_toolexperience'),
	(160, 'Can view tool experience', 40, 'view_toolexperience'),
	(161, 'Can add spool file', 41, 'add_eventspool'),
	(162, 'Can change spool file', 41, 'change_eventspool'),
	(163, 'Can delete spool file', 41, 'delete_eventspool'),
	(164, 'Can view spool file', 41, 'view_eventspool'),
	(165, 'Can add event', 42, 'add_episodicevent'),
	(166, 'Can change event', 42, 'change_episodicevent'),
	(167, 'Can delete event', 42, 'delete_episodicevent'),
	(168, 'Can view event', 42, 'view_episodicevent'),
	(169, 'Can add vector of an intent', 43, 'add_intentvector'),
	(170, 'Can change vector of an intent', 43, 'change_intentvector'),
	(171, 'Can delete vector of an intent', 43, 'delete_intentvector'),
	(172, 'Can view vector of an intent', 43, 'view_intentvector'),
	(173, 'Can add adaptive threshold', 44, 'add_adaptivethreshold'),
	(174, 'Can change adaptive threshold', 44, 'change_adaptivethreshold'),
	(175, 'Can delete adaptive threshold', 44, 'delete_adaptivethreshold'),
	(176, 'Can view adaptive threshold', 44, 'view_adaptivethreshold'),
	(177, 'Can add threshold change', 45, 'add_thresholdchange'),
	(178, 'Can change threshold change', 45, 'change_thresholdchange'),
	(179, 'Can delete threshold change', 45, 'delete_thresholdchange'),
	(180, 'Can view threshold change', 45, 'view_thresholdchange'),
	(181, 'Can add prediction total', 46, 'add_predictiontotal'),
	(182, 'Can change prediction total', 46, 'change_predictiontotal'),
	(183, 'Can delete prediction total', 46, 'delete_predictiontotal'),
	(184, 'Can view prediction total', 46, 'view_predictiontotal'),
	(185, 'Can add unlearned episode', 47, 'add_unlearnedepisode'),
	(186, 'Can change unlearned episode', 47, 'change_unlearnedepisode'),
	(187, 'Can delete unlearned episode', 47, 'delete_unlearnedepisode'),
	(188, 'Can view unlearned episode', 47, 'view_unlearnedepisode'),
	(189, 'Can add log entry', 48, 'add_logentry'),
	(190, 'Can change log entry', 48, 'change_logentry'),
	(191, 'Can delete log entry', 48, 'delete_logentry'),
	(192, 'Can view log entry', 48, 'view_logentry'),
	(193, 'Can add permission', 49, 'add_permission'),
	(194, 'Can change permission', 49, 'change_permission'),
	(195, 'Can delete permission', 49, 'delete_permission'),
	(196, 'Can view permission', 49, 'view_permission'),
	(197, 'Can add group', 50, 'add_group'),
	(198, 'Can change group', 50, 'change_group'),
	(199, 'Can delete group', 50, 'delete_group'),
	(200, 'Can view group', 50, 'view_group');
INSERT INTO public.auth_permission VALUES
	(201, 'Can add user', 51, 'add_user'),
	(202, 'Can change user', 51, 'change_user'),
	(203, 'Can delete user', 51, 'delete_user'),
	(204, 'Can view user', 51, 'view_user'),
	(205, 'Can add content type', 52, 'add_contenttype'),
	(206, 'Can change content type', 52, 'change_contenttype'),
	(207, 'Can delete content type', 52, 'delete_contenttype'),
	(208, 'Can view content type', 52, 'view_contenttype'),
	(209, 'Can add session', 53, 'add_session'),
	(210, 'Can change session', 53, 'change_session'),
	(211, 'Can delete session', 53, 'delete_session'),
	(212, 'Can view session', 53, 'view_session'),
	(213, 'Can add email address', 54, 'add_emailaddress'),
	(214, 'Can change email address', 54, 'change_emailaddress'),
	(215, 'Can delete email address', 54, 'delete_emailaddress'),
	(216, 'Can view email address', 54, 'view_emailaddress'),
	(217, 'Can add email confirmation', 55, 'add_emailconfirmation'),
	(218, 'Can change email confirmation', 55, 'change_emailconfirmation'),
	(219, 'Can delete email confirmation', 55, 'delete_emailconfirmation'),
	(220, 'Can view email confirmation', 55, 'view_emailconfirmation'),
	(221, 'Can add authenticator', 56, 'add_authenticator'),
	(222, 'Can change authenticator', 56, 'change_authenticator'),
	(223, 'Can delete authenticator', 56, 'delete_authenticator'),
	(224, 'Can view authenticator', 56, 'view_authenticator'),
	(225, 'Can add social account', 57, 'add_socialaccount'),
	(226, 'Can change social account', 57, 'change_socialaccount'),
	(227, 'Can delete social account', 57, 'delete_socialaccount'),
	(228, 'Can view social account', 57, 'view_socialaccount'),
	(229, 'Can add social application', 58, 'add_socialapp'),
	(230, 'Can change social application', 58, 'change_socialapp'),
	(231, 'Can delete social application', 58, 'delete_socialapp'),
	(232, 'Can view social application', 58, 'view_socialapp'),
	(233, 'Can add social application token', 59, 'add_socialtoken'),
	(234, 'Can change social application token', 59, 'change_socialtoken'),
	(235, 'Can delete social application token', 59, 'delete_socialtoken'),
	(236, 'Can view social application token', 59, 'view_socialtoken'),
	(237, 'Can add access attempt', 60, 'add_accessattempt'),
	(238, 'Can change access attempt', 60, 'change_accessattempt'),
	(239, 'Can delete access attempt', 60, 'delete_accessattempt'),
	(240, 'Can view access attempt', 60, 'view_accessattempt'),
	(241, 'Can add access log', 61, 'add_accesslog'),
	(242, 'Can change access log', 61, 'change_accesslog'),
	(243, 'Can delete access log', 61, 'delete_accesslog'),
	(244, 'Can view access log', 61, 'view_accesslog'),
	(245, 'Can add access failure', 62, 'add_accessfailurelog'),
	(246, 'Can change access failure', 62, 'change_accessfailurelog'),
	(247, 'Can delete access failure', 62, 'delete_accessfailurelog'),
	(248, 'Can view access failure', 62, 'view_accessfailurelog'),
	(249, 'Can add access attempt expiration', 63, 'add_accessattemptexpiration'),
	(250, 'Can change access attempt expiration', 63, 'change_accessattemptexpiration'),
	(251, 'Can delete access attempt expiration', 63, 'delete_accessattemptexpiration'),
	(252, 'Can view access attempt expiration', 63, 'view_accessattemptexpiration'),
	(253, 'Can add access token', 64, 'add_accesstoken'),
	(254, 'Can change access token', 64, 'change_accesstoken'),
	(255, 'Can delete access token', 64, 'delete_accesstoken'),
	(256, 'Can view access token', 64, 'view_accesstoken'),
	(257, 'Can add grant', 65, 'add_grant'),
	(258, 'Can change grant', 65, 'change_grant'),
	(259, 'Can delete grant', 65, 'delete_grant'),
	(260, 'Can view grant', 65, 'view_grant'),
	(261, 'Can add refresh token', 66, 'add_refreshtoken'),
	(262, 'Can change refresh token', 66, 'change_refreshtoken'),
	(263, 'Can delete refresh token', 66, 'delete_refreshtoken'),
	(264, 'Can view refresh token', 66, 'view_refreshtoken'),
	(265, 'Can add id token', 67, 'add_idtoken'),
	(266, 'Can change id token', 67, 'change_idtoken'),
	(267, 'Can delete id token', 67, 'delete_idtoken'),
	(268, 'Can view id token', 67, 'view_idtoken'),
	(269, 'Can add device grant', 68, 'add_devicegrant'),
	(270, 'Can change device grant', 68, 'change_devicegrant'),
	(271, 'Can delete device grant', 68, 'delete_devicegrant'),
	(272, 'Can view device grant', 68, 'view_devicegrant'),
	(273, 'Can add metric total', 69, 'add_metrictotal'),
	(274, 'Can change metric total', 69, 'change_metrictotal'),
	(275, 'Can delete metric total', 69, 'delete_metrictotal'),
	(276, 'Can view metric total', 69, 'view_metrictotal'),
	(277, 'Can add one time password', 70, 'add_onetimepassword'),
	(278, 'Can change one time password', 70, 'change_onetimepassword'),
	(279, 'Can delete one time password', 70, 'delete_onetimepassword'),
	(280, 'Can view one time password', 70, 'view_onetimepassword'),
	(281, 'Can add api token', 71, 'add_apitoken'),
	(282, 'Can change api token', 71, 'change_apitoken'),
	(283, 'Can delete api token', 71, 'delete_apitoken'),
	(284, 'Can view api token', 71, 'view_apitoken'),
	(285, 'Can add audit entry', 72, 'add_auditentry'),
	(286, 'Can change audit entry', 72, 'change_auditentry'),
	(287, 'Can delete audit entry', 72, 'delete_auditentry'),
	(288, 'Can view audit entry', 72, 'view_auditentry'),
	(289, 'Can add idempotent request', 73, 'add_idempotentrequest'),
	(290, 'Can change idempotent request', 73, 'change_idempotentrequest'),
	(291, 'Can delete idempotent request', 73, 'delete_idempotentrequest'),
	(292, 'Can view idempotent request', 73, 'view_idempotentrequest'),
	(293, 'Can add OAuth client', 74, 'add_oauthclient'),
	(294, 'Can change OAuth client', 74, 'change_oauthclient'),
	(295, 'Can delete OAuth client', 74, 'delete_oauthclient'),
	(296, 'Can view OAuth client', 74, 'view_oauthclient'),
	(297, 'Can add webhook', 75, 'add_webhook'),
	(298, 'Can change webhook', 75, 'change_webhook'),
	(299, 'Can delete webhook', 75, 'delete_webhook'),
	(300, 'Can view webhook', 75, 'view_webhook');
INSERT INTO public.auth_permission VALUES
	(301, 'Can add webhook delivery', 76, 'add_webhookdelivery'),
	(302, 'Can change webhook delivery', 76, 'change_webhookdelivery'),
	(303, 'Can delete webhook delivery', 76, 'delete_webhookdelivery'),
	(304, 'Can view webhook delivery', 76, 'view_webhookdelivery'),
	(305, 'Can add retired user name', 77, 'add_retiredusername'),
	(306, 'Can change retired user name', 77, 'change_retiredusername'),
	(307, 'Can delete retired user name', 77, 'delete_retiredusername'),
	(308, 'Can view retired user name', 77, 'view_retiredusername');
INSERT INTO public.auth_user VALUES
	(1, '!tpm4TpjIbrolzCtckggh5f97qHZcE8Xy1ruiruUU', NULL, true, 'admin', '', '', '', true, true, '2026-11-27 05:14:50.197216+00');
INSERT INTO public.django_content_type VALUES
	(1, 'tools', 'category'),
	(2, 'tools', 'team'),
	(3, 'tools', 'tool'),
	(4, 'tools', 'dangerousoperation'),
	(5, 'tools', 'server'),
	(6, 'tools', 'membership'),
	(7, 'tools', 'tooltext'),
	(8, 'tools', 'tooldefinition'),
	(9, 'tools', 'toolembedding'),
	(10, 'tools', 'toolposting'),
	(11, 'tools', 'serversignin'),
	(12, 'tools', 'signinattempt'),
	(13, 'tools', 'serveritems'),
	(14, 'tools', 'serverdiscovery'),
	(15, 'tools', 'toolgroup'),
	(16, 'graph', 'graphsnapshot'),
	(17, 'graph', 'toolmetric'),
	(18, 'graph', 'graphstate'),
	(19, 'graph', 'tooldependency'),
	(20, 'graph', 'relationevidence'),
	(21, 'graph', 'toolusage'),
	(22, 'graph', 'outputshape'),
	(23, 'graph', 'workflowpattern'),
	(24, 'graph', 'patternrun'),
	(25, 'graph', 'patternembedding'),
	(26, 'graph', 'fittedmodel'),
	(27, 'graph', 'learnedbinding'),
	(28, 'execution', 'workflowexecution'),
	(29, 'execution', 'taskrun'),
	(30, 'execution', 'runcommand'),
	(31, 'execution', 'payload'),
	(32, 'execution', 'executionevent'),
	(33, 'execution', 'approval'),
	(34, 'execution', 'speculation'),
	(35, 'execution', 'speculationcontrol'),
	(36, 'execution', 'speculationgrant'),
	(37, 'execution', 'budgetreservation'),
	(38, 'execution', 'speculationagreement'),
	(39, 'execution', 'speculationbudget'),
	(40, 'learning', 'toolexperience'),
	(41, 'learning', 'eventspool'),
	(42, 'learning', 'episodicevent'),
	(43, 'learning', 'intentvector'),
	(44, 'learning', 'adaptivethreshold'),
	(45, 'learning', 'thresholdchange'),
	(46, 'learning', 'predictiontotal'),
	(47, 'learning', 'unlearnedepisode'),
	(48, 'admin', 'logentry'),
	(49, 'auth', 'permission'),
	(50, 'auth', 'group'),
	(51, 'auth', 'user'),
	(52, 'contenttypes', 'contenttype'),
	(53, 'sessions', 'session'),
	(54, 'account', 'emailaddress'),
	(55, 'account', 'emailconfirmation'),
	(56, 'mfa', 'authenticator'),
	(57, 'socialaccount', 'socialaccount'),
	(58, 'socialaccount', 'socialapp'),
	(59, 'socialaccount', 'socialtoken'),
	(60, 'axes', 'accessattempt'),
	(61, 'axes', 'accesslog'),
	(62, 'axes', 'accessfailurelog'),
	(63, 'axes', 'accessattemptexpiration'),
	(64, 'oauth2_provider', 'accesstoken'),
	(65, 'oauth2_provider', 'grant'),
	(66, 'oauth2_provider', 'refreshtoken'),
	(67, 'oauth2_provider', 'idtoken'),
	(68, 'oauth2_provider', 'devicegrant'),
	(69, 'gateway_project', 'metrictotal'),
	(70, 'gateway_project', 'onetimepassword'),
	(71, 'gateway_project', 'apitoken'),
	(72, 'gateway_project', 'auditentry'),
	(73, 'gateway_project', 'idempotentrequest'),
	(74, 'gateway_project', 'oauthclient'),
	(75, 'gateway_project', 'webhook'),
	(76, 'gateway_project', 'webhookdelivery'),
	(77, 'gateway_project', 'retiredusername');
INSERT INTO public.django_migrations VALUES
	(1, 'contenttypes', '0001_initial', '2026-11-27 05:13:46.862284+00'),
	(2, 'auth', '0001_initial', '2026-11-27 05:13:47.045815+00'),
	(3, 'account', '0001_initial', '2026-11-27 05:13:47.153392+00'),
	(4, 'account', '0002_email_max_length', '2026-11-27 05:13:47.230004+00'),
	(5, 'account', '0003_alter_emailaddress_create_unique_verified_email', '2026-11-27 05:13:47.233126+00'),
	(6, 'account', '0004_alter_emailaddress_drop_unique_email', '2026-11-27 05:13:47.260619+00'),
	(7, 'account', '0005_emailaddress_idx_upper_email', '2026-11-27 05:13:47.330127+00'),
	(8, 'account', '0006_emailaddress_lower', '2026-11-27 05:13:47.406648+00'),
	(9, 'account', '0007_emailaddress_idx_email', '2026-11-27 05:13:47.492485+00'),
	(10, 'account', '0008_emailaddress_unique_primary_email_fixup', '2026-11-27 05:13:47.553849+00'),
	(11, 'account', '0009_emailaddress_unique_primary_email', '2026-11-27 05:13:47.629051+00'),
	(12, 'admin', '0001_initial', '2026-11-27 05:13:47.821086+00'),
	(13, 'admin', '0002_logentry_remove_auto_add', '2026-11-27 05:13:47.87312+00'),
	(14, 'admin', '0003_logentry_add_action_flag_choices', '2026-11-27 05:13:47.904446+00'),
	(15, 'contenttypes', '0002_remove_content_type_name', '2026-11-27 05:13:48.005061+00'),
	(16, 'auth', '0002_alter_permission_name_max_length', '2026-11-27 05:13:48.07371+00'),
	(17, 'auth', '0003_alter_user_email_max_length', '2026-11-27 05:13:48.124991+00'),
	(18, 'auth', '0004_alter_user_username_opts', '2026-11-27 05:13:48.160112+00'),
	(19, 'auth', '0005_alter_user_last_login_null', '2026-11-27 05:13:48.245103+00'),
	(20, 'auth', '0006_require_contenttypes_0002', '2026-11-27 05:13:48.249984+00'),
	(21, 'auth', '0007_alter_validators_add_error_messages', '2026-11-27 05:13:48.287109+00'),
	(22, 'auth', '0008_alter_user_username_max_length', '2026-11-27 05:13:48.357532+00'),
	(23, 'auth', '0009_alter_user_last_name_max_length', '2026-11-27 05:13:48.420055+00'),
	(24, 'auth', '0010_alter_group_name_max_length', '2026-11-27 05:13:48.477131+00'),
	(25, 'auth', '0011_update_proxy_permissions', '2026-11-27 05:13:48.511094+00'),
	(26, 'auth', '0012_alter_user_first_name_max_length', '2026-11-27 05:13:48.576563+00'),
	(27, 'axes', '0001_initial', '2026-11-27 05:13:48.62117+00'),
	(28, 'axes', '0002_auto_20151217_2044', '2026-11-27 05:13:48.781011+00'),
	(29, 'axes', '0003_auto_20160322_0929', '2026-11-27 05:13:48.835574+00'),
	(30, 'axes', '0004_auto_20181024_1538', '2026-11-27 05:13:48.925476+00'),
	(31, 'axes', '0005_remove_accessattempt_trusted', '2026-11-27 05:13:48.942044+00'),
	(32, 'axes', '0006_remove_accesslog_trusted', '2026-11-27 05:13:48.981056+00'),
	(33, 'axes', '0007_alter_accessattempt_unique_together', '2026-11-27 05:13:49.04906+00'),
	(34, 'axes', '0008_accessfailurelog', '2026-11-27 05:13:49.128429+00'),
	(35, 'axes', '0009_add_session_hash', '2026-11-27 05:13:49.166974+00'),
	(36, 'axes', '0010_accessattemptexpiration', '2026-11-27 05:13:49.205121+00'),
	(37, 'tools', '0001_initial', '2026-11-27 05:13:50.773799+00'),
	(38, 'tools', '0002_notify_and_seed', '2026-11-27 05:13:50.929216+00'),
	(39, 'tools', '0003_remote_servers', '2026-11-27 05:13:51.880993+00'),
	(40, 'tools', '0004_notify_search', '2026-11-27 05:13:51.900483+00'),
	(41, 'tools', '0005_server_lists', '2026-11-27 05:13:52.013198+00'),
	(42, 'tools', '0006_plural_of_items', '2026-11-27 05:13:52.035579+00'),
	(43, 'tools', '0007_approval', '2026-11-27 05:13:52.225765+00'),
	(44, 'tools', '0008_early_triggers', '2026-11-27 05:13:52.242325+00'),
	(45, 'tools', '0009_sealed_addresses', '2026-11-27 05:13:52.41315+00'),
	(46, 'tools', '0010_server_discovery', '2026-11-27 05:13:53.205005+00'),
	(47, 'tools', '0011_seed_code_runners', '2026-11-27 05:13:53.293113+00'),
	(48, 'tools', '0012_ignored_places', '2026-11-27 05:13:53.340896+00'),
	(49, 'tools', '0013_plain_labels', '2026-11-27 05:13:53.366496+00'),
	(50, 'tools', '0014_seed_actions', '2026-11-27 05:13:53.551972+00'),
	(51, 'execution', '0001_runs', '2026-11-27 05:13:54.849027+00'),
	(52, 'execution', '0002_accounts', '2026-11-27 05:13:54.858217+00'),
	(53, 'execution', '0003_early_runs', '2026-11-27 05:13:54.90835+00'),
	(54, 'execution', '0004_plain_labels', '2026-11-27 05:13:54.927659+00'),
	(55, 'execution', '0005_speculation', '2026-11-27 05:13:55.205278+00'),
	(56, 'execution', '0006_speculation_grants', '2026-11-27 05:13:55.578708+00'),
	(57, 'execution', '0007_budgets_and_agreements', '2026-11-27 05:13:56.401103+00'),
	(58, 'execution', '0008_run_tool_group', '2026-11-27 05:13:56.478188+00'),
	(59, 'tools', '0015_tool_groups', '2026-11-27 05:13:56.637035+00'),
	(60, 'learning', '0001_experience', '2026-11-27 05:13:56.821141+00'),
	(61, 'learning', '0002_plain_labels', '2026-11-27 05:13:56.826626+00'),
	(62, 'learning', '0003_episodic_memory', '2026-11-27 05:13:57.409237+00'),
	(63, 'learning', '0004_thresholds', '2026-11-27 05:13:59.289398+00'),
	(64, 'learning', '0005_prediction_totals', '2026-11-27 05:13:59.482641+00'),
	(65, 'learning', '0006_unlearned_episodes', '2026-11-27 05:13:59.649667+00'),
	(66, 'learning', '0007_episodes_wait', '2026-11-27 05:13:59.730545+00'),
	(67, 'graph', '0001_initial', '2026-11-27 05:14:01.878907+00'),
	(68, 'graph', '0002_notify', '2026-11-27 05:14:01.894349+00'),
	(69, 'graph', '0003_history', '2026-11-27 05:14:04.365614+00'),
	(70, 'graph', '0004_paired_references', '2026-11-27 05:14:04.545443+00'),
	(71, 'graph', '0005_early_graph', '2026-11-27 05:14:04.770458+00'),
	(72, 'graph', '0006_plain_labels', '2026-11-27 05:14:04.873293+00'),
	(73, 'graph', '0007_pattern_weight', '2026-11-27 05:14:05.533112+00'),
	(74, 'gateway_project', '0001_initial', '2026-11-27 05:14:06.433547+00'),
	(75, 'gateway_project', '0002_token_last_used', '2026-11-27 05:14:06.539413+00'),
	(76, 'gateway_project', '0003_plain_labels', '2026-11-27 05:14:06.563679+00'),
	(77, 'gateway_project', '0004_roles', '2026-11-27 05:14:07.09845+00'),
	(78, 'gateway_project', '0005_oauth_client', '2026-11-27 05:14:07.321286+00'),
	(79, 'gateway_project', '0006_token_tool_group', '2026-11-27 05:14:07.661279+00'),
	(80, 'gateway_project', '0007_webhooks', '2026-11-27 05:14:09.381144+00'),
	(81, 'gateway_project', '0008_retired_user_names', '2026-11-27 05:14:09.416706+00'),
	(82, 'mfa', '0001_initial', '2026-11-27 05:14:09.606365+00'),
	(83, 'mfa', '0002_authenticator_timestamps', '2026-11-27 05:14:09.749273+00'),
	(84, 'mfa', '0003_authenticator_type_uniq', '2026-11-27 05:14:10.048099+00'),
	(85, 'oauth2_provider', '0001_initial', '2026-11-27 05:14:11.357323+00'),
	(86, 'oauth2_provider', '0002_auto_20190406_1805', '2026-11-27 05:14:11.557207+00'),
	(87, 'oauth2_provider', '0003_auto_20201211_1314', '2026-11-27 05:14:11.669872+00'),
	(88, 'oauth2_provider', '0004_auto_20200902_2022', '2026-11-27 05:14:13.781237+00'),
	(89, 'oauth2_provider', '0005_auto_20211222_2352', '2026-11-27 05:14:14.891279+00'),
	(90, 'oauth2_provider', '0006_alter_application_client_secret', '2026-11-27 05:14:15.276311+00'),
	(91, 'oauth2_provider', '0007_application_post_logout_redirect_uris', '2026-11-27 05:14:15.368159+00'),
	(92, 'oauth2_provider', '0008_alter_accesstoken_token', '2026-11-27 05:14:15.45544+00'),
	(93, 'oauth2_provider', '0009_add_hash_client_secret', '2026-11-27 05:14:15.539005+00'),
	(94, 'oauth2_provider', '0010_application_allowed_origins', '2026-11-27 05:14:15.629455+00'),
	(95, 'oauth2_provider', '0011_refreshtoken_token_family', '2026-11-27 05:14:15.70256+00'),
	(96, 'oauth2_provider', '0012_add_token_checksum', '2026-11-27 05:14:16.261849+00'),
	(97, 'oauth2_provider', '0013_alter_application_authorization_grant_type_device', '2026-11-27 05:14:17.816826+00'),
	(98, 'oauth2_provider', '0014_alter_help_text', '2026-11-27 05:14:17.941754+00'),
	(99, 'oauth2_provider', '0015_refreshtoken_token_checksum', '2026-11-27 05:14:18.954195+00'),
	(100, 'oauth2_provider', '0016_alter_devicegrant_scope', '2026-11-27 05:14:19.114668+00');
INSERT INTO public.django_migrations VALUES
	(101, 'oauth2_provider', '0017_application_dcr_created', '2026-11-27 05:14:19.233859+00'),
	(102, 'oauth2_provider', '0018_resource_indicators', '2026-11-27 05:14:19.517443+00'),
	(103, 'oauth2_provider', '0019_application_registration_source', '2026-11-27 05:14:19.935308+00'),
	(104, 'oauth2_provider', '0020_cimd_application_fields', '2026-11-27 05:14:20.124572+00'),
	(105, 'oauth2_provider', '0021_translatable_field_labels', '2026-11-27 05:14:30.701012+00'),
	(106, 'oauth2_provider', '0022_refreshtoken_token_family_index', '2026-11-27 05:14:30.793701+00'),
	(107, 'sessions', '0001_initial', '2026-11-27 05:14:30.850826+00'),
	(108, 'socialaccount', '0001_initial', '2026-11-27 05:14:31.521325+00'),
	(109, 'socialaccount', '0002_token_max_lengths', '2026-11-27 05:14:31.679564+00'),
	(110, 'socialaccount', '0003_extra_data_default_dict', '2026-11-27 05:14:31.755896+00'),
	(111, 'socialaccount', '0004_app_provider_id_settings', '2026-11-27 05:14:31.88508+00'),
	(112, 'socialaccount', '0005_socialtoken_nullable_app', '2026-11-27 05:14:32.111724+00'),
	(113, 'socialaccount', '0006_alter_socialaccount_extra_data', '2026-11-27 05:14:32.181098+00');
INSERT INTO public.execution_executionevent VALUES
	(1, 1, 'run_queued', '', -1, '2026-11-27 05:15:19.575787+00', '{}', '288b81b5-f20f-4407-b4a9-e672e2390217'),
	(2, 2, 'run_started', '', -1, '2026-11-27 05:15:19.572634+00', '{}', '288b81b5-f20f-4407-b4a9-e672e2390217'),
	(3, 3, 'task_started', 'count', -1, '2026-11-27 05:15:19.572634+00', '{}', '288b81b5-f20f-4407-b4a9-e672e2390217'),
	(4, 4, 'task_succeeded', 'count', -1, '2026-11-27 05:15:19.935104+00', '{"duration_ms": 306.98010199989767}', '288b81b5-f20f-4407-b4a9-e672e2390217'),
	(5, 5, 'task_started', 'look', -1, '2026-11-27 05:15:19.935131+00', '{}', '288b81b5-f20f-4407-b4a9-e672e2390217'),
	(6, 6, 'task_succeeded', 'look', -1, '2026-11-27 05:15:19.954134+00', '{"duration_ms": 1.0746830000698537}', '288b81b5-f20f-4407-b4a9-e672e2390217'),
	(7, 7, 'run_ended', '', -1, '2026-11-27 05:15:19.954149+00', '{"status": "succeeded"}', '288b81b5-f20f-4407-b4a9-e672e2390217');
INSERT INTO public.execution_payload VALUES
	(1, 'workflow', '', 1, '\x80000000006b0911e721620f3d212e87d76ebcedd2f8a3ccef78d57ef9bcd2c167ec2f0a10c841c8c0b3f91ed966ad25f54b949f7f313ea19f8d8248dc19b97b8b2961e840d65f0183374a4bfde22b16119d31d178dee4f35700fdbc4fb1d9cca96839d863e84e18229334f996f41994f3c015840413530e3c6bf8534515603d323c74b7d023eac941fb087255b30ae07262f9818134d99845dcead5fc3b0bc1e9daed029f68b96a1769fe9414249d61ab2bfd5fd5f8fb6c14d07e195b98ef2f153842501a09f55e89b8667b53023a65fee4c89996c46b86be7272f7afe73fb12c8302e84c5d167a9aa3b16a6e0a45e9e062e49c5d100e2d82', 186, '288b81b5-f20f-4407-b4a9-e672e2390217'),
	(2, 'result', 'count', -1, '\x80000000006b0911e714a823b9db015caa45289ccb975cbc2a3d52e461fb4b38773818617f2bb6edb82cdc5143e4536f1f6828c3535ad5f4def4fbbe52ca1fef28f6ba5fca11b28a3d92a7b901376a249c1105dcadc88914bc67d16f678fa6bbd400eaf366f98b50b60ffa26daea2674980d9416e74e33915d233ffa1cc2bab62a09f40e4cdccefb8f9a1dde0e0a9fb10eafb3f652393bbc1f0eee214f169727ed33fbde8ea797d7bcd8f13effe6c246bdf6eed705c2b9baba8f118db97b4532a3fb9c4781f15ccfa4610ea7580150f8844eaaca7c485a5f6caa983c5c6d941130acaf9af296340fb7bd86c71a7d2dbd6fe25280408c7427a8847df5ed568cb9ae1cc2043d94605876', 194, '288b81b5-f20f-4407-b4a9-e672e2390217'),
	(3, 'result', 'look', -1, '\x80000000006b0911e73fbb911552bbae11c04f535879a8631ec2abca131b3769865b35dfc76c994d3e2e926384e510393807eb79c01005c5c47809228d0fc86fd4283053cee88d2f857049f63c35991ca1d9eeb24af7ab09516e590b1ce0a8a15ce807b80cf39ff91a6bd043332f79d285c88a3c2dc35d95b7984f42a513dedf4ce68ccffa85397aea695bf4cedbe24237a011082caf48ebd0c2b9a82471f7fc3aca66cbb74b546a89a344402d17b74644e30edbb126accd46be3a66a07ee94f8949b01f69f3a44a77df45163255df83e84f8d7f3939b76970ddd5c6d57872b3726bdbd87cfc33da2fa3b96e1081fc0f65ff23a69838c56e6b7a56511ad357357e4054fb2433f73125', 194, '288b81b5-f20f-4407-b4a9-e672e2390217');
INSERT INTO public.execution_speculationcontrol VALUES
	(1, true, '', NULL);
INSERT INTO public.execution_taskrun VALUES
	(1, 'count', -1, 0, 'counting:count', 'succeeded', 1, '20ac7884d1e542118e739b50a9e73f474727655704d65f09f17b28e4d37e270c', '6ba69181b193012d1c32f58bcfd200188cd5691224b235fe98d6d64bad6d75c7', '2026-11-27 05:15:19.572634+00', '2026-11-27 05:15:19.935104+00', 306.98010199989767, '', 194, '288b81b5-f20f-4407-b4a9-e672e2390217'),
	(2, 'look', -1, 1, 'counting:look', 'succeeded', 1, '45f894ba102ff4e8d97d9102c25e59f5e09aa77aa0be9c4987011675b5427c78', '2377aeb202263c89d50a7d250e735519079e915f5a6dc70aae9b94d36a874b2e', '2026-11-27 05:15:19.935131+00', '2026-11-27 05:15:19.954134+00', 1.0746830000698537, '', 194, '288b81b5-f20f-4407-b4a9-e672e2390217');
INSERT INTO public.execution_workflowexecution VALUES
	('288b81b5-f20f-4407-b4a9-e672e2390217', 'admin', '["*"]', 'command', false, 'succeeded', '{"on_error": "stop", "deadline_s": null, "per_layer_validation": false}', 1, 2, '', '4db663d359ed56ecb7c61a3dd0ef879cfb5acf1c0cf7bbd143af193b7ff32f24', '', 1, NULL, 7, '', '2026-11-27 05:15:19.575787+00', '2026-11-27 05:15:19.575787+00', '2026-11-27 05:15:19.955176+00', '2026-11-27 05:15:19.955176+00', NULL, NULL, NULL, NULL, '');
INSERT INTO public.gateway_project_auditentry VALUES
	(1, '2026-11-27 05:14:50.255702+00', 'admin', 'command', 'server.registered', 'counting', '', '{"changed": []}', NULL, 1),
	(2, '2026-11-27 05:15:45.225618+00', 'admin', 'command', 'history.imported', 'history.jsonl', '', '{"runs": 1, "patterns": 1}', NULL, 1);
INSERT INTO public.gateway_project_metrictotal VALUES
	(1, 'foregate_call_seconds_bucket', '{"le": "+Inf", "server": "counting"}', 2),
	(2, 'foregate_call_seconds_bucket', '{"le": "0.005", "server": "counting"}', 1),
	(3, 'foregate_call_seconds_bucket', '{"le": "0.01", "server": "counting"}', 1),
	(4, 'foregate_call_seconds_bucket', '{"le": "0.025", "server": "counting"}', 1),
	(5, 'foregate_call_seconds_bucket', '{"le": "0.05", "server": "counting"}', 1),
	(6, 'foregate_call_seconds_bucket', '{"le": "0.075", "server": "counting"}', 1),
	(7, 'foregate_call_seconds_bucket', '{"le": "0.1", "server": "counting"}', 1),
	(8, 'foregate_call_seconds_bucket', '{"le": "0.25", "server": "counting"}', 1),
	(9, 'foregate_call_seconds_bucket', '{"le": "0.5", "server": "counting"}', 2),
	(10, 'foregate_call_seconds_bucket', '{"le": "0.75", "server": "counting"}', 2),
	(11, 'foregate_call_seconds_bucket', '{"le": "1.0", "server": "counting"}', 2),
	(12, 'foregate_call_seconds_bucket', '{"le": "10.0", "server": "counting"}', 2),
	(13, 'foregate_call_seconds_bucket', '{"le": "2.5", "server": "counting"}', 2),
	(14, 'foregate_call_seconds_bucket', '{"le": "5.0", "server": "counting"}', 2),
	(15, 'foregate_call_seconds_bucket', '{"le": "7.5", "server": "counting"}', 2),
	(16, 'foregate_call_seconds_count', '{"server": "counting"}', 2),
	(17, 'foregate_call_seconds_sum', '{"server": "counting"}', 0.30818426599989834),
	(18, 'foregate_calls_total', '{"server": "counting", "outcome": "ok"}', 2);
INSERT INTO public.graph_graphstate VALUES
	(1, '2.5.608396870595800401', '2026-11-27 05:15:07.368964+00', '1.0.0', '2026-11-27 05:15:07.368964+00', '{}');
INSERT INTO public.graph_learnedbinding VALUES
	(1, '', 'call', '', '', 0, NULL, '', 1, 1, 0, '2026-11-20 08:00:00+00', NULL, NULL, 1),
	(2, 'name', 'literal', '1f9ce37d2c35bbfa9e5dcd347247fa879f54bf0267e10d3f25387dab71b9e089', '', 0, NULL, '', 1, 1, 1, '2026-11-20 08:00:00+00', NULL, NULL, 1),
	(3, '', 'call', '', '', 0, NULL, '', 1, 1, 0, '2026-11-20 08:00:00+00', NULL, NULL, 5),
	(4, 'after', 'reference', '085c257ac9795c28b247daed4c661049a999bda5311629f5c8d3e273335b0e06', '/name', 0, NULL, '', 1, 1, 0, '2026-11-20 08:00:00+00', 1, NULL, 5),
	(5, 'name', 'literal', 'db61a76e76c606e0fe063e6a757762259952473ed79d25077563779e0b20cd8f', '', 0, NULL, '', 1, 1, 1, '2026-11-20 08:00:00+00', NULL, NULL, 5);
INSERT INTO public.graph_patternembedding VALUES
	(1, 'sentence-transformers/all-MiniLM-L6-v2', '[0.036091037,0.05734783,-0.099467665,0.0026554544,-0.030374613,0.05655123,0.08023325,-0.007881836,0.06535631,-0.040533453,0.037456434,-0.11686751,0.081930995,-0.0215985,-0.16004126,0.019933272,-0.051876184,0.043772507,0.023760358,-0.15906832,0.035386648,-0.02229079,0.028962944,-0.02087107,0.03067067,0.08826868,-0.064605094,0.009059758,-0.050408978,-0.07196025,-0.02791781,0.0033947658,0.058749758,0.0897981,-0.013482699,-0.075499184,-0.10713715,0.05556366,0.0441078,0.006692426,-0.039098363,-0.07843795,0.058153618,-0.016802793,0.036725618,0.042214055,-0.03834805,0.050216973,0.08548149,0.056809008,-0.060509037,-0.06821913,-0.097862095,0.0067490456,0.044459365,-0.016257746,-0.011341892,-0.07821601,-0.021220792,0.047970224,-0.008279206,-0.011233819,-0.0109730195,-0.029050102,-0.04872662,0.04693794,0.008835003,-0.06359588,0.02695002,0.045435343,0.0359683,0.08037085,0.122045584,-0.0034298422,-0.12094,-0.046845958,-0.02108385,-0.02335191,0.0024073592,7.4527056e-06,-0.08959984,-0.06789113,-0.032055125,0.02888642,0.051743697,0.07175283,0.0015289417,0.011377343,-0.039707754,-0.04174608,-0.1319437,-0.013641703,0.0606333,-0.031542584,0.006704887,0.03594183,0.0159269,0.029091792,-0.024462417,0.10706909,-0.03754489,0.02275875,0.0033754334,-0.013136083,-0.04490496,0.059875045,0.050369725,-0.042646937,0.059024714,-0.05001737,0.023252582,-0.0054361313,0.019160774,0.03287385,0.031644676,-0.1208554,0.055382296,-0.025786411,0.033816736,-0.050175246,0.1267523,-0.0021321243,-0.027174734,0.0053959624,-0.09125633,0.035457887,0.034013763,-4.446993e-33,0.005767178,-7.1651055e-05,0.10684885,0.06307635,0.0036761703,-0.05683488,-0.013148901,0.06971768,-0.058440264,0.038731337,0.036210015,-0.06392183,0.063157685,-0.039842233,-0.019744301,-0.001753956,-0.025900312,0.004551147,-0.09998626,-0.0072655007,-0.026264468,-0.06406123,-0.0022487098,0.027110783,0.0074346242,-0.04841701,-0.004943832,-0.081511445,0.056001425,0.03948417,0.064594336,-0.03297446,-0.07339191,0.0022530782,0.09152321,-0.057344377,0.025575573,0.021671839,0.016868504,-0.0012133619,0.008500823,-0.05421828,-0.008211635,0.015369959,-0.09761779,0.093620576,0.03997547,-0.006577456,-0.002978138,0.068632685,0.07487737,-0.010377979,-0.07129679,0.048595607,-0.03521719,0.010874486,-0.0070326384,0.07123653,-0.00069117465,0.06603654,0.007696572,-0.02530052,0.0042281314,0.07564579,0.0413033,-0.014689413,0.0017363736,0.008368529,0.01720449,0.038409416,0.016880915,-0.038874697,0.07399106,-0.010731209,-5.0736453e-05,-0.0017480401,0.025471047,-0.02110044,-0.08479574,0.050659202,0.007651534,-0.029903889,0.047522902,0.0038253148,-0.014507468,0.028871188,-0.025297087,-0.06636724,-0.057127353,-0.035121813,-0.08859619,0.008593681,0.023144796,-0.051641867,-0.05223608,1.9084138e-33,-0.008904838,-0.021099616,0.017910099,-0.04713812,0.031863023,-0.085120425,-0.011970699,0.03883686,0.044734225,0.036600932,0.05249023,-0.021857992,0.009937144,0.007412889,0.115512885,0.06267639,0.007894939,-0.015335242,-0.07639669,0.07269711,-0.07206065,-0.0017145063,-0.06970839,-0.039401736,-0.026637733,0.0617301,0.101824686,-0.10652645,0.011466763,-0.013804496,0.035382222,-0.044313706,0.018133683,0.008436257,-0.100155406,0.026560646,0.043056108,-0.013072778,-0.03942067,-0.0016859496,0.026297782,0.03308719,-0.0025826334,0.0031620604,-0.034506887,-0.050605837,-0.026532082,0.055451024,0.0032680412,0.056142136,-0.027532248,-0.0050928197,-0.085671335,0.014976532,-0.020070868,-0.01374112,-0.015161169,0.008794645,0.022558415,-0.002471472,-0.012477571,0.0067066806,-0.010238371,0.118786044,0.03620707,-0.024317162,-0.086954616,-0.012671453,-0.05191075,-0.012924876,0.07847887,-0.005806807,-0.10446102,-0.010337288,-0.019874148,0.08796892,0.013161598,0.0037918938,-0.03873193,0.024268243,-0.0174513,-0.066661395,-0.0033962326,0.040173173,-0.018449811,0.0028531912,0.07390776,0.01908103,0.0067794067,0.007236512,-0.012051758,-0.013844981,0.038753267,-0.09666559,-0.02027523,-1.8155689e-08,-0.036956877,-0.10783104,0.027337562,-0.023444604,0.09368253,0.09979779,0.010269981,0.021921314,-0.029588982,0.012983429,0.062261976,-0.0191997,-0.029621895,0.047482233,0.0006078286,-0.034275282,-0.024381466,0.09659956,-0.013920944,0.035148248,0.017226279,0.03516107,0.04733264,-0.0047327476,-0.039608665,-0.004477313,-0.036930304,0.022202032,-0.0299806,-0.01095674,0.065305404,0.07948901,-0.08405358,-0.012084958,0.019319344,0.07871893,-0.0008720011,-0.0001209574,0.012891802,0.017056195,-0.026302718,0.024204608,-0.016386578,0.06908014,0.054704264,0.0050281356,0.035903066,-0.17277794,0.033299986,-0.10719044,-0.0526413,-0.049037475,0.066108145,-0.037630204,-0.1345003,-0.041158862,0.028870288,0.0523756,0.017771836,0.02805419,0.021355998,-0.016075902,0.054668292,0.008071424]', '\x80000000006b091200a8c376262a5e79c30f8c6a12db629646ee08ab7547ae52e89ca4796225394d35828867dd767826051e6b693a8640b6f83d34cf6267ecb1d21b057eda500e84eda20279e1c2f581a77b0a427ccd53d10d1dd6db9567ae3d1102dc062df87d710413e56e9e204599acc413854a3debe8966a03c6af03b3b393a47c9000c701b580a5b50249648e635692f98659fd1b973ba096854fe0b09fe7bb8998be96a4438720c1fe72e56b567b27c7eeb36105effccf565a103f498c8ef7aac7fe26ec19a07193051ba7d832b50359e1a6facbb04c36e82ee7173d135cb276ad20b01f23ba4dda1607c6dfc4775fcd6bd8b9753bec06cb268c3224b1d85cb2dd9cf1ea8829179f2563ab24b88fa3b98f06086d8c34135ebd3d3078046cb400c9bdce02d8ed13cdb3b546a919ba33317fcff397af6efed9abc24e7c63976ea6ec0cb7a39f7d920da8c9bcc30266c88b5a03582c4f392dd953c2b550692d0d23ac9092b3f5c9daafcefc8e0d2513f3cc8916a0f41e3954aa5e7b7b67c6a772a0b7f42539465392f2dc6c547c2fa695f6963f5e78a08978e265aad95f0cf81112a32f20569cf76342edf4a944cea925f4016fa77efb24f8c76dd18ec98eefb7f2950d5abbd1edfacfcfcbadacc64c3bbff673db8a4eb588311fe946b0af9995d052e4a50ff3a40ba2c86690966347596b69114846b2790e4db632ceedaa7ff368782d4bbcd021d5fe0f3494f186ae61935615a15a588c507ae5cc2435e6eab462316e77af40bf8c6732e2a2eea7c4ac40739f94bd50a0867818d5da18cd21c08d8c92c7954a77058ae219510a52d1317ed6c84d26c91b9b372e1967582d419fc3fbc45480da1691e66eff35c48ca03fbb262591c2505837f234bb047887eb91e5c678d10aff75eb5f7364f4feed45f7d795a7bd88b6fbc98eb5f51c7605869d9ccf8d0bdfbc1b24a90eb504bf0b68e11466b5f5807383b7f99b217f406bb79d4895d6f6a1fa7cf4cdf737a25516f3979f7a48dc06ab4faa30d1fe895cde5166d4ad5d52d4bf0da1ad45d7123d9c52133277dd2fde727c56719bb3d5f320031c1685d3aea7eb58a63f3014089f8d18b0645b99998a46503cffdc103f5de0cbe7158ea4d30ced6e8cc42e4bd29651c99489c0ee043dfacedab4c0cf449ec767c2b0c4d74bf8036bf69ce959769207070b37eaa7063622671e329b4112ec8ef43327da4e19a8dc45ed951dacf50acc712bd606bc4555c6740f90605a6cccc08ee3c8a6e12b01aaab9d8a27f3ff623b3cc1b571310aa5857e6a5a0e6e9ec8edabfbc6c4009227fa42454f2428cf3208b8d1f84953ff7fc3fd8e335e69f61852616df738e328777c73826248fae660d8631ec0a575095189ee5dfa5badae8f10395a4b53f11e7bc44d5058a577591d111c9e3d33c737c049bfd37f78fe616b922adedf858c9f177ce293ab5d5cc4317117c164c5b291a136b0dd2c7ac4f1a5dd09e0acc426ae152c84ab58782a885c5234f2d39326526f4f25607f6aae546109d3c80e2c09a6cc79fdef5fd4e59380737532d5235e526e7c3cb838cfd1d1c5e290ef9805e73fbaad6baaa06294816fa6c805ad025116522a3c7172216d50efdddd53145429128adddf39416b0efcaf92e94ea5c940f2d825800aabdd1e62a1eed2eba181b883acac5fb2394b8e975e963bf2b0acf632998258dc669a4eb9489786016bc90b6b400e9ad8dee7ea4987206ae89bb9911303130e59996c94d5e3783e30b5814eb5e6bf45647ce268955b22c1f847c610a01275622888057d9de81addecff6bee2d6a280bd3c1d58253ea5014d062425c290458f068ca40236e6f49bfd0f65161d8be75c7308aab7fb3e856c4a82bd750ea5545a9eea12a63ff1940649b3e114730170a281c1c8510bac1ed8ce5f9f871cc5872ec568c6c5253d78b898dbc31dcd3c302928aceff5edf9b4d84a91c4eede18cfde006269fc9a61bd36a83647e4f02603ffd7b1ca4bc26342d8697758bf3670d597c98ac5d8d154567037d2ff75a550e6a06f0302781193109b906fd6da8de71007d953953c62c2fd8da24f6450f630a9c4f2c9f28199d99fa32a057fe5d4fbac998a5b821f980957be31b7e4d2aaf73ffafd0f480a32e44a0f13374bdc00d6da9c51865d4ac550dccf6a5d928cbcf9986a7d68b614c9e41e2721c927e4c862210d6b7dcc0826be5c6e79a233a3c89a2439d4225595ded788bdb84d5095331aa9ddba21d968bc0b8c56256e011a136a55f698980063a6b9a4892828d78753c596c64a8276327f2d9e892fe891f39fd6e0492ac536cd31baa40e6c04cc6486837aabf5a9534995c131dc88f7fcce5b5168007897eb343c99c1b2130e15c1fd4a003202cc7ded8d7ecaddd6a92ed01bee90872420faaad361092ced85783c1c530e88a156da618752a5427e8fab8c059ecaa857cceecd752397571a8766429bdd3e97d11ae5ed74bd963be978b6af1d6b00cd1470c3929b3a99fe873b5561476f9c93896a56413437a4d42c36b7d80b831d6426cb30ec06d2559866c0f2d06d6211ce7768ae524d805b1e88178959a81ffec64d3fbeef39e7de4fd86e82ba3c3171db495f1e5b2f8ee2d8a9613844671a5298611fdbbd62d2ceb629deca3606b7f434f908c0bebd07129ed52dd2b2baeeb2b23dbf7d3e515fe3dacbf395ab2bc0c6d9152575a882f933ca5ecf64097f48aa890cc7012843a4b91a3de98469a6cc05d574c1e5a5683070587ba142b4e0d54f78352186cc8a30f90db9c476b94fb3cef60ec6adb2c28493e7d0c522209329c4fd30eb37f452fd5e715f84865e21d2821865a164f405463bb0b1aaabff1d761766ed1fe56a9134e7d35cdb04408f6a08ad4e27e5baa3ca4ad03237aaf21b7e88667e11859b49be962affbd68b532fe75e777832abe89198aecbb200ca624664c1d2e04a10a3c62899335ef28be980d3190bef33062c33f41d8aa66a220ad94ce64c4706bfa1cf89f084f330aa6b3eeb2ab64b1316840bb756208b2ef50f1803cbca6e714bfe87fe9aeb9d85ab356a6ea8fecc047fbd52381c962288536d35631df59ba52737bc0bf189c82cb0967dd843b2e324c05514f65e5b59de9ddcd683de0c6172e0701ae92ad82dafd49a2bf8af3dd51cc6384b09973c6d7e2334f1f39335ba173539e47aab49e53c93323fa27dd4d813dbc49b305a4c114b9a4c80ca2c190eb289d21d087ab83e715717b15109791c843137e4868165500418beb3b93c317ef097a5d44c3f7369160e1cac82b83c5bdd4c4cc0782f0a0850b92166df2fcd01ee19aff80e21838d8268a472ff8271ff1bf2d0464792e7718743c37b5c5f15a8345907e3eb720d679c0324c4c0627f99747ae50393bd2e6ccc320522d48d1332a1d76f2aae8c698ea9a3e4fd2adc3b4c1271c30418c9deeaea61aef25903b97b99801fc2bd20696e10c82779e7bfcfb297376ae37efad0d3d805508e07eae2d792cd9f37a6fa3a8907d3ec2763e4dfdc2de59b1141ea8022c447e5a6fd8c74895418bed6e61c7daf15cbac8241cc75e7e399d01ea80c420712c8c4846021878b4d4c86d82eedceac28858da3156dbef270ad3faa2db4188ba9bc9c732187980af711d744ce3120bcdb898edb6d60a97fc7abd3b8783a3a7dfb468b30600447f9afc1bafe57b993d7ce9190af622092df55abac390635c35f1c0e1cbccfd8d430b5780efe5cd38e3459fd2f7132a4a15d640715f9db54e562f97f141848098bd0127085436eff6985fda81056c1f876d48aea6d9004cdcc548ff5eb0bba1c2460dc1d0ca104286152b71d743bd412ee6b27ab49a46fc236a33cb43b15248e747451aef13fe05c73f9a864d50eab063c3d6ee8c573ce71856243cb12844a2d135f32ef48050109b2c952740cbb443d5fa360410efb06117fcabafaf3a2e30ba6db8422edeee0d05414f0d45390776ee6afa6846a0b7bd2d2619d1b491815b5c271d3c8fc0fd96403ffd9bf919228d366499209906648cdd030eb26ad2874ef0d224a9c74a717a4d1834cd6aaeb6c51191b5169b8e6b819ebabeeef8e0a78f8fc74326743e33d056e345290618b5a7d240785f7ee198d13e62e787a9221d6460c93ca7af8e053e6dd8200e4755556cb304a655509ee188451ca00692f3653e61cfe201736f0d52027397e6d896a27bd907fcb55c23a67e8f781e98e71998c8cffb60e5720eb1b408e0b9f9cc03eb75f28e6684557123b2c72e3f113bb434022117f35c533e92d7cbb4329c594843f3b9b0c934370ddcdee0d0bf6febd79b6d83c76ec242a0112e1bd6428be54a0034b484da0ffe9b8d290e603da593dfa57d112e918613bd5a74e637972c74cea9f53d5e0c9cb356daf591a14aaa8f88700dcf46a15e3f52f4af8472f8942b78bd8300cd7984800b877440623a266641fe9ec4674c81e0a9d1df65c3b2455dd5f981c551483fee428dcfa1ad31fa70e3f773e0132a19ada6badcf0a715c176d252a3120112ae80cc5476abd4eaf87ab79fb361e3c05dd089622c4ba5663c43b2d2a9e8a27fa8fdba46e454b457b32a32c0575d88868bcdb66898f191ae54261e45b032b87cbe4be901ea88dec5804bd0b814aef0d51932b0c3b0b1cfe30d9bd8e02f1d43ed9acf3cc42dc92f2e3e111a0c3554344bfa7fbfed0b0dba9d76a4b5fa664d4f3605b12d9453842ef7863a8835f6395fb687efbd324ed7d84c37a51de6b773c566f29282be3cc52b69962dc3a8f80023a1c0ddf5b6ddce917ad5620c056da7514cc5553ae58d532fc16ce28b02f1cb1662148d0480f4d8b20791c8b0401addd637ef6d27c2dda3c198d0cf80b3dc8df78045ef9f63d56b326d1556753c1c10ed4b8838ac91bf3a64f4020622dd1d4344a3f42a8c50c517571b3103c481ede58f848ab840595042dd9634c86f154a073e92975deacd9e4bc390b265fbb4be3695ef5309631866f5e18d6ea77145e96eb71869fb68e5c57c641cce1113e59a27ef3f5699c95b11c214dfd485ac4c1151a9ed515236c81958bd5131b5c71ef1e37f694261cab62dda40307d3482308d813ffba6e2fa0b8f5d486df0a3b1e54a9c915cc241dd6331b4eef7ae6d84a6c631b428dbf666c00aed9388de79acaf96e4e8ae25e6f70bc943592a870e96ae069c7c885f668ca6c8c50b2082ca82a04a8949d7b39a759d810db518325e0922b912b9cde94c6db583769cecb59b3938d4663b57bb03bec4d16eb926899616d4f02c4c18ff00c2d4ceb872c852b361535aa4d65147511a34f45174d48741ebc00078cc9cffb66c7e5aecd1ccc0e20c6851cc05c2eb5e25f871ede6e527c976c6a412ed2b134ee013299c34da323fb30fde0963c1a3561f9e1261267cfa7658b8dfa2ec101bbde96b97ca66bc473cb89d95717485fe4a631c0f6743648bc58c2f14ab24440a96b697fc87124b427fbd912c9479106f532a620ce90b254bca3dde3b205110caa2a087f0d22a95530a337639b02738e5bd7a94a9e2c48a9228a062480851953e3844b0883d8af4a15800246fa357fa3e7bac73f8e90f36c08e9721d1a9ecdddaeebeb3e5190978f42bdeb37d3bbe25d1b7d8b5d778a4dcef20e5d37543f42fb623bd523206c2739d55eb026a05c78422a3b037d8c7742c77eae06e53527d2f0673a1f0a4296a9fccd0dbea52d8043107d0163227373ee81f4e9f226d0e250f6d0a8d26658401d248972746ba4a31234eb46677b07a7cbe00e3a7fbc238320a587e6c7cb09f260fe3b9d32abbac0c9618b5b817ab9ce40dc3805295052bf5724138ff47cb3bcb4bcb84a8b29a684c6707c929ae4d143420502c12676a3718e55994fc4201b9c68aff272cf00071f9d3637ea3122fa5ae60e54fba4dbeef7bf5871ca36e32cad1f7cfd824d9d9c87cdf6e62124e0dc7187633c78dd540162b21ac5e571d91c2e6d130b58c647f6cb4533d324fcb0c61373ac77e77412f1ac80ca14e11ae2cc42d6104930678b42526f37343fa5e68430bf76db6fc216bd14f2b1abcf29c9ed9ba78fb76ccaadfab3c5ed38953e373f6fa874fef94ea4d8719a5afd144d70f7eee9e4111eca93e801067e2d4dc8ac7c619960cf659af0a1fa064744aae35666957cb2f0a5355965bb8ba6863a4f9f5bc91c12ee08c6815f76b762734cf0121492f3a055b803201c3f33233e3d9a9195c4a9d53f3b26db27b99da4d6de16935f58c43b8ade8a8e86f52a1aa77376a270d802846032b08a575c51c7541b9aad3bce442e638490d09dab8105f1924709a9f15cfb35aef3cd07575e8cc0d55f56d2ccae60fbeab088700f29865e329a0a89be30e88835fc3c49a32df93c44c46fb535359cf384b524abbd16f9dd3661d6148f6c8eb0dfe8220a65e1b29d3eaaf41269e20c27eff121db0a9d617919120349f005afc0efedf3a1d463910ba6ca473fe216d435a747458c558440f812b680844d94a061bcb09b946e24510d1e4dd8b8be3558308354ff4bd6870682c1134d5f8cfdf02df6fadd209d67c52c340df52e39798e9c45d3c1b978cbd8fdbb066c683e2e265a4baf015e737ed2ad4a705be3fbf1a4a08f812ac272f37a34be12c13bac05d2179c16ed0a42d2803976f930427b6413f9423b694b93ada4e3c7fbb1ec3fcd0d5856c26921d3995d0b79379109eaca90595e3e0e536b7043bfc09684f549475ff26f25feb9b0d13f1fdfecee57ee554d3b140f60f406e1de2db6e95a4c311e0450ba6f2df4cbe348d8b574adcd3d18ac5c022cd2af4b4c82d3a28f97c0248eb1399d561170bf0e9008634269e1ffc22a9c25e108026cb398095435f92165e5ebf2fbecb59d47bbb609aea43cb50f1c149172b7ee7e0c07f9cf9fdb2bdcbec250bee9f3f74a8e9eba8960aebb59d62252bf413984f52f019765d29f24639e9e965ddef3fb9e65223e9281345c16fa155a01fd7181eb02f1bef98b5ad6a9a779dac64c77366d468b463554dda2b0b54a2180037cf974fdc2dce60286b998fba53c423d4a2b08b66576116ff0fe56b51d45cbe398f6d5d23a7d52e458aac1ef85d388f920e3c6acfb85846bd6a2d7cfbbb6aea23a34b20b24368b25bfa346890e33db41288c181cc94cf1f613d22c4551e89a6647125fa85b3eae0d5f07efdb32f7912ad73b59c0cc9e83516f694a3729afcb0221dd67dbcb76dcb9fc5742a29f366e6cb1176f2376af06da20a69bb7e74b721f1ca26ac6ed3b962c8df335d262e94292865a29cdeda93e1ce181a032522cddc0e7ccb4e2e330f3586c122cc449d0bbbdf70d40160afb156d13eb034e6347edfc84874278c24db571e2c2efabac6c49d7454c98fe5ec3732296fed8e26e1f0bce883a97e22fce691a773a110a49853b7f7a6c1b4a3fa97cfbdaca5e1c38b4a1e3dcfff61ed7049b2627ce6cf97e630691362a3b422366c2436fbb7c1b90a0b2e8f3488291d0dc944dd3375032dc98d9122e1671777bba806c4d9d7c9a968f59e6632f5f0975d3e2b90cdbcd790299fce1a96fd7024ca30c9c8443fcad38fcb75275e0ede2f2c1c8919a7557fe4c1a4d66dea85cd91527ec053dbb6feb7c7a73490ee62e28b03804e762241b27daeca1257b271d837c07c76c59c34fb5467dee1a44256365b00f5614b5a8898f5f3935d317ad41954ccde48b16186f7b174aa9408b8ece11a80bc015c1f5cf789ddc26a6ea822b1d339b6fa67c1b26734b4a463c2c949a66af9bd9ef8c0d767043e6a0c1c48b6a08e9620e342fac67167117dce5df621c04b00325916771b1eb5f30dc3da629e00cf734b10623be3dac4b1a3b92c368e9e4', 1);
INSERT INTO public.graph_patternrun VALUES
	(1, 'run-1', true, '2026-11-20 08:00:00+00', '\x504b03042d00000008000000210008b95b43ffffffffffffffff0c00140066656174757265732e6e707901001000c00000000000000064000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e136a68a6aea3a09e965f54529498179f5f94920a92704bcc294e058a17672416a402f91a9a3a0ab50a9400ae340606064b203607623320b6006243203606e224203605e214a81a4b24b124a83800504b03042d000000080000002100042a6025ffffffffffffffff08001400726f77732e6e707901001000000f00000000000030010000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91ac6463a0aa6169a3a0ab50a64022e066ca081c10608b1011b28c6027a2c191864b62399401a68809a8f4d1f4eb780ec84ea6c00d3a4d9da40d00e2cb682ec2cda02d1dfb39324bdf8edc4c303d9797c27d976520fa0c60fae54020264a7a1a21d482690061af0b80aa759e034b407aabf019f4a3c7612b003dd2d14c6276e3b71f1a0798582744b3d008b1f1b381f3b682023053060a421d240033c0d916c274a1a22c74e06d26cc69286686127a13434308050da81010ad210525d461a20270d61abcbc8b1136e1a7180a2f824270d3150986ea909f0959cc860340de105a36908078fb676122e0147eb4f82768ed69f74b713ad750e00504b03042d000000080000002100f62809eaffffffffffffffff0b001400746172676574732e6e707901001000c00000000000000051000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91ac6463a9a3a0ab50ae4032e061b061840b030459059286c00504b03042d00000008000000210045e68fb5ffffffffffffffff0900140073697a65732e6e70790100100090000000000000004a000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e536aa4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a163a9a3a0ab50a14002e56061864046300504b01022d032d00000008000000210008b95b4364000000c00000000c000000000000000000000080010000000066656174757265732e6e7079504b01022d032d000000080000002100042a602530010000000f00000800000000000000000000008001a2000000726f77732e6e7079504b01022d032d000000080000002100f62809ea51000000c00000000b000000000000000000000080010c020000746172676574732e6e7079504b01022d032d00000008000000210045e68fb54a0000009000000009000000000000000000000080019a02000073697a65732e6e7079504b05060000000004000400e00000001f0300000000', NULL, 1);
INSERT INTO public.graph_workflowpattern VALUES
	(1, '611af315feeeab05188b5516dda015a40edf010b8e502ac083bce7559aa911f9', '3196bac815fd122ab2819475b2b5e8c9d5aa79ed002c2a80eaeb80cc5ceda75e', '[{"id": "t1", "tool": "counting:count", "depends_on": [], "references": []}, {"id": "t2", "tool": "counting:look", "depends_on": ["t1"], "references": [{"task": "t1", "pointer": "/name", "parameter": "after"}]}]', '{1,5}', 'gAAAAABrCRH95zALYBlLUXLhrVswdAsYeWqgqAT_kZ1yDEL_IOP-LPrd4jksL4xRTNAw-PoaqcA6WE49vo1usIA-2YCag5_d6BfvqxvDHIokaOnp1vs4IsQ=', 1, 0, '2026-11-20 08:00:00+00', '2026-11-20 08:00:00+00', NULL, 1);
INSERT INTO public.learning_episodicevent VALUES
	(1, '2026-11-27 05:15:19.933545+00', -4298648499960697695, 1, -5558032666887216551, 5600203647642214942, 2902901683505700531, NULL, NULL, 307.2604769999998, 1, 1, 1, '{"run": "288b81b5-f20f-4407-b4a9-e672e2390217"}', NULL, NULL, NULL),
	(2, '2026-11-27 05:15:19.954048+00', -4298648499960697695, 5, -7976606805633026830, 5600203647642214942, 2902901683505700531, NULL, NULL, 1.251894999995784, 1, 1, 1, '{"run": "288b81b5-f20f-4407-b4a9-e672e2390217"}', NULL, NULL, NULL);
INSERT INTO public.learning_eventspool VALUES
	('fc137c8c-e2bd-4bc3-841f-e30f1295954b', 324, '2026-11-27 05:15:19.981618+00');
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
	(1, 'counting', 'stdio', '${FOREGATE_TEST_PYTHON}', '["-I", "-S", "${FOREGATE_TEST_SERVERS}/counting.py", "${FOREGATE_TEST_LEDGER}"]', 'gAAAAABrCRHKtwp8RJl-B5U9QOHsvH6CGxvhUx1_NOFVJv1y-rvKPu1Os613uGPmX09o3GcsNkbfV8K1fbz5q4vaZ630ZELAp0ERCJyYBpvud5z2YIzDTMkv0vvu5U66lsEUJ_zAgNIf', '', '{}', '/home/of/the/dump/servers.json', '', '', true, false, 0.000000, NULL, NULL, '2026-07-28', '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:19.919652+00', '', NULL, '2026-11-27 05:14:50.248222+00', '2026-11-27 05:14:50.248236+00', NULL, false, 'none', '', NULL, '', '', '', false, 'shared', '', '["tools"]', '', '[]');
INSERT INTO public.tools_serverdiscovery VALUES
	(1, '2026-11-27 05:14:50.248236+00', NULL, NULL, '2026-11-27 05:15:07.139173+00', 0, NULL, NULL, '', 1);
INSERT INTO public.tools_tool VALUES
	(1, 'count', 'active', true, '', '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:06.405209+00', NULL, 1, 1, 1, false, '', NULL, '[]'),
	(2, 'count_once', 'active', true, '', '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:06.405209+00', NULL, 1, 2, 2, false, '', NULL, '[]'),
	(3, 'die', 'active', true, '', '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:06.405209+00', NULL, 1, 5, 5, false, '', NULL, '[]'),
	(4, 'fail', 'active', true, '', '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:06.405209+00', NULL, 1, 4, 4, false, '', NULL, '[]'),
	(5, 'look', 'active', true, '', '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:06.405209+00', NULL, 1, 3, 3, false, '', NULL, '[]');
INSERT INTO public.tools_tooldefinition VALUES
	(1, '20ac7884d1e542118e739b50a9e73f474727655704d65f09f17b28e4d37e270c', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', 'd8c9f603cfac6933d4ebfa4f370ee8caf10fec780ce3ade85d5a52c2a58a2622', '', 'Count a name: each call counts it once more.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": false, "destructiveHint": false}', 62, '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:06.405209+00', NULL, 1, '[]'),
	(2, 'b530816ea910513b1f10f846cbbba56ef89bdb7980b08461bd9eb7cd2c69746d', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', '66980b133feae02970837210c09b9649306a81765006a0cf109096fe597d2efc', '', 'Set the count of a name, as often as you like.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": false, "idempotentHint": true, "destructiveHint": false}', 65, '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:06.405209+00', NULL, 2, '[]'),
	(3, '45f894ba102ff4e8d97d9102c25e59f5e09aa77aa0be9c4987011675b5427c78', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', 'e3903e003832569a1128c8a49257af25814f9d33b8bb3daad2fec5a9ea7eabcb', '', 'Look at a name, without changing anything.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": true}', 60, '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:06.405209+00', NULL, 5, '[]'),
	(4, '9eecb9f512b629e769588f6ccab5713d7a78dc09cf3d9049b207d9cc65675189', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', 'cfcef7ddbe64d0faa63cd558d148fe274b7ab71b0003593306f3d0a761743794', '', 'Count a name, then report a failure.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": true}', 60, '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:06.405209+00', NULL, 4, '[]'),
	(5, '937ad25a445f5c8e0f23e57dca65dd4512b30a8145261a2e1e569ed4c11d8e1b', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', '6635112f9e3fadb22c5bc9de0ce34a270890d48e592b12aba815ef7aa6a775d8', '', 'Count a name, then end the server without an answer.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": false, "destructiveHint": false}', 63, '2026-11-27 05:15:06.405209+00', '2026-11-27 05:15:06.405209+00', NULL, 3, '[]');
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
	(1, '860156339a15532cd5ca31e5a08a4de2', 8.5),
	(2, '69e557fbbf95408ed65a5f34ee392529', 9.5),
	(5, 'fceec72e8dc5d35c710cdb9e9bd32e79', 9.5),
	(4, 'aed36fb832183cb9ac509a5bff417c4e', 8.5),
	(3, '5d74f434607d4fd349cc11a621164dd9', 10.5);
SELECT pg_catalog.setval('public.account_emailaddress_id_seq', 1, false);
SELECT pg_catalog.setval('public.account_emailconfirmation_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_group_id_seq', 4, true);
SELECT pg_catalog.setval('public.auth_group_permissions_id_seq', 58, true);
SELECT pg_catalog.setval('public.auth_permission_id_seq', 308, true);
SELECT pg_catalog.setval('public.auth_user_groups_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_user_id_seq', 1, true);
SELECT pg_catalog.setval('public.auth_user_user_permissions_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accessattempt_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accessfailurelog_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accesslog_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_admin_log_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_content_type_id_seq', 77, true);
SELECT pg_catalog.setval('public.django_migrations_id_seq', 113, true);
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
SELECT pg_catalog.setval('public.tools_dangerousoperation_id_seq', 389, true);
SELECT pg_catalog.setval('public.tools_membership_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_server_id_seq', 1, true);
SELECT pg_catalog.setval('public.tools_serverdiscovery_id_seq', 1, true);
SELECT pg_catalog.setval('public.tools_serveritems_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_serversignin_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_signinattempt_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_team_id_seq', 1, false);
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
    ADD CONSTRAINT gateway_project_webhook_name_key UNIQUE (name);
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
    ADD CONSTRAINT tools_team_name_key UNIQUE (name);
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
CREATE INDEX gateway_project_webhook_name_fe2e505c_like ON public.gateway_project_webhook USING btree (name varchar_pattern_ops);
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
CREATE INDEX tools_team_name_387474f1_like ON public.tools_team USING btree (name varchar_pattern_ops);
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
CREATE TRIGGER execution_account_deleted AFTER DELETE ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.execution_follow_account();
CREATE TRIGGER execution_account_renamed AFTER UPDATE OF username ON public.auth_user FOR EACH ROW WHEN (((old.username)::text <> (new.username)::text)) EXECUTE FUNCTION public.execution_follow_account();
CREATE TRIGGER gateway_user_deleted AFTER DELETE ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.gateway_retire_user_name();
CREATE TRIGGER gateway_user_named BEFORE INSERT OR UPDATE OF username ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.gateway_refuse_user_name();
CREATE TRIGGER gateway_user_renamed AFTER UPDATE OF username ON public.auth_user FOR EACH ROW WHEN (((old.username)::text <> (new.username)::text)) EXECUTE FUNCTION public.gateway_retire_user_name();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE ON public.execution_speculationgrant FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF name ON public.tools_category FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF pattern, danger, enabled ON public.tools_dangerousoperation FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
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
