import { jsonEquals } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { App, VelaWorkflow } from "../app.ts";
import type { Definitions } from "../definitions/definition.ts";
import { evaluateServices } from "../delivery/services.ts";
import { VelaDelivery } from "../delivery/vela-delivery.ts";
import type { ApplicationStatus } from "../kinds.ts";
import { keepsDebugValues, writeDebugValue } from "../workflow/debug-values.ts";
import { type PassResult, runPass } from "../workflow/pass.ts";
import type { WorkflowStatus } from "../workflow/status.ts";
import { type ApplicationPhase, failed, pending, succeeded, withPhase } from "./conditions.ts";
import type { Pass, Tools } from "./parts.ts";

export interface ToolsRequest {
  readonly app: App;
  readonly definitions: Definitions;
  readonly revisionHash: string;
  readonly acting: ApiClient;
}

export function toolsOf(pass: Pass, { app, definitions, revisionHash, acting }: ToolsRequest): Tools {
  const { client: own, clock, cue, settings, signal } = pass;
  const clusters = pass.clustersFor(acting);
  const delivery = new VelaDelivery({
    app,
    client: acting,
    own,
    clusters,
    definitions,
    cue,
    clock,
    systemNamespace: settings.systemDefinitionNamespace,
    revisionHash,
    allowCrossNamespace: settings.allowCrossNamespace,
    run: () => pass.store.status.workflow?.startTime,
    ...(pass.charts === undefined ? {} : { charts: pass.charts }),
    ...(pass.answers === undefined ? {} : { answers: pass.answers }),
    signal,
  });
  return { app, acting, clusters, definitions, delivery };
}

export interface RunStage {
  readonly stage?: "pre-render";
  readonly isWoken: boolean;
  /** Of the ConfigMap of rendered objects. */
  readonly resources?: string;
}

/** Moves the workflow on. Each transition is one write of the application's status. */
export function runStage(pass: Pass, tools: Tools, { stage, isWoken, resources }: RunStage): Promise<PassResult> {
  const { store, client, cue, clock, log, signal, providers, courier } = pass;
  const { app, acting, clusters, definitions, delivery } = tools;
  let preRendered: string | undefined;
  const parts = {
    cue,
    providers,
    definitions,
    delivery,
    clusters,
    client,
    actingClient: acting,
    courier,
    settings: pass.settings,
    clock,
    log,
    signal,
    print: (step: string, line: string) => pass.print(store.application, step, line),
    noteOverlay: (digest: string) => {
      preRendered = digest;
    },
    ...(keepsDebugValues(app)
      ? {
          debug: (step: string, text: string) =>
            writeDebugValue({ client, owner: store.application, clock, signal }, step, text),
        }
      : {}),
  };
  return runPass(parts, {
    subject: { app, owner: store.application, ...(resources === undefined ? {} : { resources }) },
    status: store.status.workflow,
    isWoken,
    ...(stage === undefined ? {} : { stage }),
    store: async (workflow) => {
      const moved = withWorkflow(pass, app.workflow, workflow);
      const status = preRendered === undefined ? moved : { ...moved, preRendered };
      // Objects that steps have applied so far are shown with the step that applied them.
      await store.put(stage === undefined ? await withServices(status, delivery) : status);
    },
  });
}

/** The status with the workflow's, its phase and its condition. */
function withWorkflow(pass: Pass, { modes }: VelaWorkflow, workflow: WorkflowStatus): ApplicationStatus {
  const { status } = pass.store;
  const { appRevision } = status.workflow ?? {};
  const now = pass.clock.now();
  const mode = `${modes.steps}-${modes.subSteps}`;
  const next: ApplicationStatus = {
    ...status,
    workflow: {
      ...workflow,
      mode,
      ...(appRevision === undefined ? {} : { appRevision }),
    },
  };
  const phased = withPhase(next, phaseOf(workflow, status));
  if (workflow.finished !== true) return pending(phased, "Workflow", "Creating", now);
  if (workflow.status === "succeeded" || workflow.status === "skipped") return succeeded(phased, "Workflow", now);
  const message = workflow.message ?? "";
  return failed(failed(phased, "Workflow", message, now), "Ready", message, now);
}

/** Health decides the phase after success. */
function phaseOf({ finished, status, suspend }: WorkflowStatus, before: ApplicationStatus): ApplicationPhase {
  if (finished !== true) return suspend === true ? "workflowSuspending" : "runningWorkflow";
  if (status === "terminated") return "workflowTerminated";
  if (status === "failed") return "workflowFailed";
  return before.status === "running" || before.status === "unhealthy" ? before.status : "runningWorkflow";
}

/** Unchanged parts stay the same objects, so that nothing is written without need. */
export async function withServices(status: ApplicationStatus, delivery: VelaDelivery): Promise<ApplicationStatus> {
  const { services, appliedResources } = await evaluateServices(delivery);
  const seen = { services, appliedResources } as unknown as Pick<ApplicationStatus, "services" | "appliedResources">;
  if (services.length === 0 && appliedResources.length === 0 && status.appliedResources === undefined) return status;
  const isSame = jsonEquals(status.services, services) && jsonEquals(status.appliedResources, appliedResources);
  return isSame ? status : { ...status, ...seen };
}
