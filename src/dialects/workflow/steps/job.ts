import { err, isJsonObject, messageOf, ok, type Result, type JsonObject } from "#lib/base/index.ts";
import { parseOutputs } from "#lib/text/index.ts";
import type { ChildState } from "#engine/index.ts";
import type { ApiClient, Lister } from "#kernel/kit/index.ts";
import { asJson, isForbidden, Job, type KubeObject, Pod, type Stored, Node } from "#kernel/model/index.ts";
import { childLabels, childName, labels } from "../child-names.ts";
import { jobOfContainer, mainContainer } from "../compile/container-job.ts";
import { render } from "../compile/values.ts";
import type { ObjectState } from "../completion.ts";
import {
  childOf,
  createChild,
  deleteChild,
  observeChild,
  plannedReference,
  type StepClients,
  failed,
} from "./child.ts";
import type { Attempt, Finding, StepExecutor } from "./executor.ts";
import { jobManifest, type PodAnnotations } from "./job-manifest.ts";
import { withMasks } from "./masked-pods.ts";
import { objectState } from "./object-state.ts";
import { cutOutputs, succeeded } from "./outputs.ts";
import { type ContainerEnd, containerEnd, keptOutputBytes, type Lack, podLack } from "./pod-results.ts";
import { mayTryAgain } from "./retry-when.ts";
import { carriesLabel, leavesAnnotation, takesAnnotation } from "#kernel/artifacts/index.ts";
import { leftFor, missingInput } from "../compile/artifacts.ts";

/** Watches Pods for a waiting attempt. Undefined until they can be seen, which triggers a pass. */
export type PodWatch = (attempt: Attempt) => WatchedPods | undefined;

export interface WatchedPods {
  readonly pods: Lister;
  /** Triggers a pass when this Pod changes. */
  readonly follow: (pod: Stored) => void;
}

/** Executes `jobTemplate` and `container` steps: one Job per attempt, whose end is its condition. */
export function jobExecutor(clients: StepClients, jobs: Lister, watchPods: PodWatch): StepExecutor {
  const { client } = clients;
  const kind = { type: Job, children: jobs };
  return {
    reference: (attempt) => plannedReference(Job, childName(childOf(attempt))),
    async start(attempt, signal) {
      return (
        (await earlierAttempt(client, attempt, watchPods, signal)) ??
        (await nobodyCarries(client, attempt, signal)) ??
        (await createChild(clients, Job, renderJob(attempt), attempt, signal))
      );
    },
    observe: async (attempt, signal) =>
      attempt.phase === "Waiting"
        ? freed(attempt, watchPods)
        : await observeChild(client, kind, attempt, signal, (job) => stateOf(client, attempt, job, signal)),
    cancel: (attempt, graceMs, signal) => deleteChild(client, kind, attempt, graceMs, signal),
  };
}

/**
 * A deleted Job is gone at once, but its Pods may run for their grace. A further attempt waits for their end, because
 * two attempts must not run in parallel. One list request, or two, only for retried steps that do not let objects live.
 */
async function earlierAttempt(
  client: ApiClient,
  attempt: Attempt,
  watchPods: PodWatch,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  if (attempt.number === 1 || attempt.step.step.ownership === "Independent") return undefined;
  const alive = await livingPods(client, attempt, signal).catch((thrown: unknown) => {
    if (isForbidden(thrown)) return messageOf(thrown);
    throw thrown;
  });
  if (typeof alive === "string") return { is: "refused", reason: "Forbidden", message: alive };
  if (alive.length === 0) return undefined;
  const watched = watchPods(attempt);
  for (const pod of alive) watched?.follow(pod);
  // Asked again once they are followed, because they may have ended before.
  const [first] = watched === undefined ? alive : await livingPods(client, attempt, signal);
  if (first === undefined) return undefined;
  const earlier = first.metadata.labels?.[labels.attempt] ?? "";
  const message = `pod ${first.metadata.name} of attempt ${earlier} has not ended yet`;
  return { is: "refused", reason: "Lock", message };
}

const livingPods = async (client: ApiClient, attempt: Attempt, signal: AbortSignal): Promise<readonly Stored[]> =>
  (await client.list(Pod, { ...earlierPods(attempt), signal })).items.filter((pod) => !hasEnded(pod));

function earlierPods({ workflow, step, number, item }: Attempt) {
  const { uid, namespace } = workflow.metadata;
  const ofItem = item === undefined ? "" : `,${labels.item}=${item.index}`;
  const labelSelector = `${labels.uid}=${uid},${labels.step}=${step.key},${labels.attempt}!=${number}${ofItem}`;
  return { ...(namespace === undefined ? {} : { namespace }), labelSelector };
}

function isEarlier({ workflow, step, number, item }: Attempt, { metadata }: KubeObject): boolean {
  const found = metadata.labels ?? {};
  if (item !== undefined && found[labels.item] !== String(item.index)) return false;
  const isOfStep = found[labels.uid] === workflow.metadata.uid && found[labels.step] === step.key;
  return isOfStep && found[labels.attempt] !== String(number);
}

/** Whether all Pods of earlier attempts have ended; others are followed. The start checks again. */
function freed(attempt: Attempt, watchPods: PodWatch): Finding | undefined {
  const watched = watchPods(attempt);
  if (watched === undefined) return undefined;
  const { namespace } = attempt.workflow.metadata;
  const all = watched.pods.list(namespace === undefined ? {} : { namespace });
  const alive = all.filter((pod) => isEarlier(attempt, pod) && !hasEnded(pod));
  for (const pod of alive) watched.follow(pod);
  return alive.length === 0 ? { is: "free" } : undefined;
}

function hasEnded(pod: KubeObject): boolean {
  const status = asJson(pod)["status"];
  const phase = isJsonObject(status) ? status["phase"] : undefined;
  return phase === "Succeeded" || phase === "Failed";
}

export function renderJob(attempt: Attempt): Result<KubeObject, string> {
  const { body, type } = attempt.step;
  if (body === undefined) return err("the step has no Job");
  const rendered = render(body, attempt.compiled, attempt.values);
  if (!rendered.ok) return rendered;
  if (!isJsonObject(rendered.value)) return err("expected an object");
  const artifacts = artifactAnnotations(attempt);
  if (!artifacts.ok) return artifacts;
  const isShort = type === "container";
  const template = isShort ? jobOfContainer(rendered.value) : rendered.value;
  const secrets = isShort ? body.secrets.map((path) => [...mainContainer, ...path]) : body.secrets;
  return ok(jobManifest(attempt, withMasks(template, secrets), artifacts.value));
}

/** Only the end of a Job needs its Pods. */
async function stateOf(client: ApiClient, attempt: Attempt, job: Stored, signal: AbortSignal): Promise<ChildState> {
  const state = objectState(attempt, job);
  switch (state.is) {
    case "running":
      return { is: "alive" };
    case "succeeded":
      return await success(client, attempt, job, signal);
    case "failed":
      return await failure(client, attempt, state, signal);
  }
}

/** Only for steps with outputs or artifacts, to save requests. */
async function success(client: ApiClient, attempt: Attempt, job: Stored, signal: AbortSignal): Promise<ChildState> {
  const { outputs, repeatUntil, leaves } = attempt.step;
  if (outputs.length === 0 && repeatUntil === undefined && leaves.length === 0) return { is: "succeeded" };
  const end = await endOf(client, attempt, "succeeded", signal);
  const isRead = outputs.length > 0 || repeatUntil !== undefined;
  const cut = isRead ? await cutOutputs(end?.message ?? "", () => keptOutputBytes(client, end, signal)) : undefined;
  if (cut !== undefined) return cut;
  const result = parseOutputs(end?.message ?? "");
  if (result.ok)
    return withArtifacts(
      attempt,
      succeeded(attempt, { result: result.value, object: asJson(job) }, end?.exitCode),
      end,
    );
  const lines = result.error.map((error) => `line ${error.line}: ${error.message}`).join("; ");
  const told = { reason: "OutputInvalid", message: `the step wrote outputs that cannot be read: ${lines}` };
  const retryable = mayTryAgain(attempt, { ...told, exitCode: end?.exitCode ?? null, outputs: {} });
  return { is: "failed", ...told, retryable };
}

/** Labels to find an attempt's Pods; those of the selector may differ. */
const podLabelsOf = (attempt: Attempt) => childLabels(childOf(attempt));

const endOf = (client: ApiClient, attempt: Attempt, outcome: "succeeded" | "failed", signal: AbortSignal) =>
  containerEnd(client, attempt.workflow.metadata.namespace, podLabelsOf(attempt), outcome, signal);

type JobFailure = Extract<ObjectState, { readonly is: "failed" }>;

async function failure(client: ApiClient, attempt: Attempt, job: JobFailure, signal: AbortSignal): Promise<ChildState> {
  const end = await endOf(client, attempt, "failed", signal);
  const told = explain(job, end, end === undefined ? await lacking(client, attempt, signal) : undefined);
  // A lost attempt left nothing to evaluate, so `retry` decides.
  if (end?.isLost === true) return { is: "failed", ...told, retryable: true, lost: true };
  const written = parseOutputs(end?.message ?? "");
  const outputs = written.ok ? written.value : {};
  return {
    is: "failed",
    ...told,
    retryable: mayTryAgain(attempt, { ...told, exitCode: end?.exitCode ?? null, outputs }),
  };
}

/** A missing artifact that prevented a Pod's start. */
const lacking = async (client: ApiClient, attempt: Attempt, signal: AbortSignal): Promise<Lack | undefined> =>
  attempt.step.takes.length === 0
    ? undefined
    : await podLack(client, attempt.workflow.metadata.namespace, podLabelsOf(attempt), signal);

/** Characters of a container's last line in the status. */
const longestSaid = 1_024;

/** `exit code 3: no route to host`, with the last line of the termination message. Else the Job's reason. */
function explain({ reason, message }: JobFailure, end: ContainerEnd | undefined, lack: Lack | undefined) {
  if (lack !== undefined) return lack;
  if (end === undefined || reason !== "BackoffLimitExceeded") return { reason, message };
  if (end.isLost === true) return { reason: "Lost", message: end.message };
  const last = end.message.trim().split("\n").at(-1) ?? "";
  const said = last.length > longestSaid ? `${last.slice(0, longestSaid)}…` : last;
  return { reason: "Error", message: `exit code ${end.exitCode}${said === "" ? "" : `: ${said}`}` };
}

const hasArtifacts = ({ step }: Attempt): boolean => step.takes.length > 0 || step.leaves.length > 0;

/** Annotations with the artifacts of an attempt's Pods. The error is for people. */
function artifactAnnotations(attempt: Attempt): Result<PodAnnotations, string> {
  const { step, values } = attempt;
  if (!hasArtifacts(attempt)) return ok({});
  const taken: JsonObject[] = [];
  const missing = missingInput(step.takes, values.state);
  if (missing !== undefined) return err(`${missing.step} has not left the artifact "${missing.artifact}"`);
  for (const input of step.takes) {
    for (const { path, stored } of leftFor(input, values.state)) taken.push({ ...stored, name: input.name, path });
  }
  return ok({
    ...(step.takes.length === 0 ? {} : { [takesAnnotation]: JSON.stringify(taken) }),
    ...(step.leaves.length === 0 ? {} : { [leavesAnnotation]: JSON.stringify(step.leaves) }),
  });
}

/** Clusters do not support artifacts. Called only for steps with artifacts. */
async function nobodyCarries(client: ApiClient, attempt: Attempt, signal: AbortSignal): Promise<Finding | undefined> {
  if (!hasArtifacts(attempt)) return undefined;
  const { items } = await client.list(Node, { labelSelector: `${carriesLabel}=true`, limit: 1, signal });
  if (items.length > 0) return undefined;
  const message = `no node carries artifacts (label ${carriesLabel}): the step needs Pods that Slipway runs itself, or a volume that its steps share`;
  return failed("ArtifactsNotCarried", message);
}

function withArtifacts(attempt: Attempt, state: ChildState, end: ContainerEnd | undefined): ChildState {
  const { leaves } = attempt.step;
  if (state.is !== "succeeded" || leaves.length === 0 || state.again === true) return state;
  const { artifacts, problem = unanswered } = end?.left ?? {};
  if (artifacts !== undefined) {
    const missing = leaves.find(({ name, optional }) => optional !== true && artifacts[name] === undefined);
    if (missing === undefined) return { ...state, artifacts: asObject(artifacts) };
  }
  const exitCode = end?.exitCode ?? null;
  return { is: "failed", ...problem, retryable: mayTryAgain(attempt, { ...problem, exitCode, outputs: {} }) };
}

/** The Pod is gone, or its runtime does not support artifacts. */
const unanswered = { reason: "ArtifactMissing", message: "the artifacts of the Pod were not stored" };

const asObject = (artifacts: object): JsonObject => ({ ...artifacts });
