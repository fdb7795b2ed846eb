import { err, isJsonObject, ok, type Result } from "#lib/base/index.ts";
import { parseOutputs } from "#lib/text/index.ts";
import type { ChildState } from "#engine/index.ts";
import type { ApiClient, Lister } from "#kernel/kit/index.ts";
import { asJson, Job, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { childName } from "../child-names.ts";
import { evaluateCondition, render } from "../compile/values.ts";
import type { ObjectState } from "../completion.ts";
import { createChild, deleteChild, labelsOf, observeChild, plannedReference } from "./child.ts";
import type { Attempt, StepExecutor } from "./executor.ts";
import { jobManifest, jobOfContainer } from "./job-manifest.ts";
import { objectState } from "./object-state.ts";
import { succeeded } from "./outputs.ts";
import { type ContainerEnd, containerEnd } from "./pod-results.ts";

/** Carries out `jobTemplate` and `container` steps: one Job per attempt. */
export function jobExecutor(client: ApiClient, jobs: Lister): StepExecutor {
  const kind = { type: Job, children: jobs };
  return {
    reference({ workflow, step, number }) {
      const { name, uid } = workflow.metadata;
      return plannedReference(Job, childName({ workflow: name, uid, step: step.key, attempt: number }));
    },
    start: (attempt, signal) => createChild(client, Job, manifestOf(attempt), attempt, signal),
    observe: (attempt, signal) => observeChild(kind, attempt, (job) => stateOf(client, attempt, job, signal)),
    cancel: (attempt, graceMs, signal) => deleteChild(client, kind, attempt, graceMs, signal),
  };
}

function manifestOf(attempt: Attempt): Result<KubeObject, string> {
  const { body, type } = attempt.step;
  if (body === undefined) return err("the step has no Job");
  const rendered = render(body, attempt.compiled, attempt.values);
  if (!rendered.ok) return rendered;
  if (!isJsonObject(rendered.value)) return err("expected an object");
  return ok(jobManifest(attempt, type === "container" ? jobOfContainer(rendered.value) : rendered.value));
}

/** Where the Job stands; only its end costs a look at its pods. */
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

/** Pods are looked at only for steps that declare outputs. */
async function success(client: ApiClient, attempt: Attempt, job: Stored, signal: AbortSignal): Promise<ChildState> {
  if (attempt.step.outputs.length === 0) return { is: "succeeded" };
  const end = await endOf(client, attempt, "succeeded", signal);
  const result = parseOutputs(end?.message ?? "");
  if (result.ok) return succeeded(attempt, { result: result.value, object: asJson(job) });
  const message = result.error.map((error) => `line ${error.line}: ${error.message}`).join("; ");
  return {
    is: "failed",
    reason: "OutputInvalid",
    message: `the step wrote outputs that cannot be read: ${message}`,
    retryable: true,
  };
}

/** Pods bear the labels of their Job. */
const endOf = (client: ApiClient, attempt: Attempt, outcome: "succeeded" | "failed", signal: AbortSignal) =>
  containerEnd(client, attempt.workflow.metadata.namespace, labelsOf(attempt), outcome, signal);

type JobFailure = Extract<ObjectState, { readonly is: "failed" }>;

async function failure(client: ApiClient, attempt: Attempt, job: JobFailure, signal: AbortSignal): Promise<ChildState> {
  const end = await endOf(client, attempt, "failed", signal);
  const told = explain(job, end);
  return { is: "failed", ...told, retryable: isRetryable(attempt, told, end) };
}

/** That a Job has used up its tries says less than how its container ended. */
function explain({ reason, message }: JobFailure, end: ContainerEnd | undefined) {
  if (end === undefined || reason !== "BackoffLimitExceeded") return { reason, message };
  const said = end.message.trim().split("\n").at(-1) ?? "";
  return { reason: "Error", message: `exit code ${end.exitCode}${said === "" ? "" : `: ${said}`}` };
}

/** The step's own opinion, asked here because the exit code is known here; the class of the failure is judged by the plan. */
function isRetryable(
  attempt: Attempt,
  told: { reason: string; message: string },
  end: ContainerEnd | undefined,
): boolean {
  const { retryWhen } = attempt.step;
  if (retryWhen === undefined) return true;
  const written = parseOutputs(end?.message ?? "");
  const answer = evaluateCondition(retryWhen, attempt.compiled, attempt.values, {
    attempt: attempt.number,
    ...told,
    exitCode: end?.exitCode ?? null,
    outputs: written.ok ? written.value : {},
  });
  return answer.ok && answer.value;
}
