// What a Pod's status means for its step. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { StepFailure } from "../step-failure.ts";
import { podContainers } from "./step-pod.ts";

export interface PodView {
  readonly pod: KubeObject;
  readonly isGone: boolean;
}

export type ContainerState =
  | { readonly is: "waiting"; readonly reason: string; readonly message: string }
  | { readonly is: "running" }
  | {
      readonly is: "ended";
      readonly exitCode: number;
      readonly reason: string;
      readonly message: string;
    };

export function containerState({ status }: KubeObject, name: string): ContainerState {
  const all = ["initContainerStatuses", "containerStatuses"].flatMap((list) => objectsAt(status, list));
  const state = all.find((each) => each["name"] === name)?.["state"];
  const [waiting, running, ended] = ["waiting", "running", "terminated"].map((key) => objectAt(state, key));
  if (ended !== undefined) {
    const { exitCode } = ended;
    return { is: "ended", exitCode: typeof exitCode === "number" ? exitCode : -1, ...words(ended) };
  }
  return running === undefined ? { is: "waiting", ...words(waiting) } : { is: "running" };
}

export interface PodTrouble {
  readonly failure: StepFailure;
  readonly mayPass: boolean;
}

/** The node retries these. */
const pullReasons = new Set(["ErrImagePull", "ImagePullBackOff"]);
/** The node retries these, but waiting does not help. */
const finalReasons = new Set([
  "InvalidImageName",
  "ErrImageNeverPull",
  "CreateContainerConfigError",
  "CreateContainerError",
  "CrashLoopBackOff",
]);

/** Why there is nothing to wait for: the Pod was evicted, failed or deleted without the program's end. Eviction is
 * reported in any case, because it is the cause. */
export function podLoss({ pod, isGone }: PodView): StepFailure | undefined {
  const { name = "" } = pod.metadata;
  const { reason, message } = words(pod.status);
  const isFailed = isJsonObject(pod.status) && pod.status["phase"] === "Failed";
  const hasEnded = containerState(pod, podContainers.step).is === "ended";
  if (isFailed && reason !== "" && (reason === "Evicted" || !hasEnded))
    return new StepFailure(reason, message === "" ? reason : `${reason}: ${message}`);
  return isGone && !hasEnded ? deletedByOthers(name) : undefined;
}

export const deletedByOthers = (pod: string): StepFailure =>
  new StepFailure("PodDeleted", `the Pod ${pod} of the step was deleted by another client`);

export function podTrouble(view: PodView): PodTrouble | undefined {
  const { pod } = view;
  const loss = podLoss(view);
  if (loss !== undefined) return { failure: loss, mayPass: false };
  const init = containerState(pod, podContainers.init);
  const hasEnded = containerState(pod, podContainers.step).is === "ended";
  if (init.is === "ended" && init.exitCode !== 0 && !hasEnded)
    return final(
      "InitFailed",
      `the init container of the Pod ended with exit code ${init.exitCode}${said(init.message)}`,
    );
  for (const container of Object.values(podContainers)) {
    const state = containerState(pod, container);
    if (state.is !== "waiting") continue;
    const text = `container ${container}: ${state.reason}${said(state.message)}`;
    if (pullReasons.has(state.reason)) return { failure: new StepFailure("ImagePull", text), mayPass: true };
    if (finalReasons.has(state.reason)) return final(state.reason, text);
  }
  return undefined;
}

export interface StepProgramEnd {
  readonly exitCode: number;
  readonly outOfMemory: boolean;
  readonly notBegun?: StepFailure;
}

export function programEnd({ pod }: PodView): StepProgramEnd | undefined {
  const state = containerState(pod, podContainers.step);
  if (state.is !== "ended") return undefined;
  const { exitCode, reason, message } = state;
  const end = { exitCode, outOfMemory: reason === "OOMKilled" };
  return neverBegan.has(reason) ? { ...end, notBegun: notStarted(message === "" ? reason : message) } : end;
}

const neverBegan = new Set(["StartError", "ContainerCannotRun", "RunContainerError"]);

export const isDeleted = ({ pod, isGone }: PodView): boolean => isGone || pod.metadata.deletionTimestamp !== undefined;

function notStarted(message: string): StepFailure {
  if (/no such file or directory|not found/i.test(message)) return new StepFailure("NotFound", message, 127);
  const isForbidden = /permission denied|is a directory|exec format error/i.test(message);
  return isForbidden ? new StepFailure("NotExecutable", message, 126) : new StepFailure("ContainerStart", message);
}

const final = (reason: string, message: string): PodTrouble => ({
  failure: new StepFailure(reason, message),
  mayPass: false,
});

const said = (message: string): string => (message === "" ? "" : `: ${message}`);

function words(part: unknown): { readonly reason: string; readonly message: string } {
  const text = (key: string): string => {
    const value = isJsonObject(part) ? part[key] : undefined;
    return typeof value === "string" ? value : "";
  };
  return { reason: text("reason"), message: text("message") };
}

function objectAt(part: JsonValue | undefined, key: string): JsonObject | undefined {
  const value = isJsonObject(part) ? part[key] : undefined;
  return isJsonObject(value) ? value : undefined;
}

function objectsAt(part: unknown, key: string): readonly JsonObject[] {
  const value = isJsonObject(part) ? part[key] : undefined;
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
