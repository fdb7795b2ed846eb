import { type Json } from "#kernel/apiserver/testing/index.ts";
import { jobs, types, type WorkflowPlane } from "./control-plane.ts";

const pods = "/api/v1/namespaces/default/pods";
/** Those that have not ended. */
const unfinished = `${pods}?fieldSelector=status.phase!%3DSucceeded,status.phase!%3DFailed`;

/** How a program is made to end: its exit code, and what it wrote where outputs are looked for. */
export interface ProgramEnd {
  readonly exitCode?: number;
  readonly message?: string;
}

/** What a Pod carries out. `item` and `iteration` are texts, as in its labels. */
export interface Work {
  readonly step: string;
  readonly attempt: number;
  readonly workflow: string;
  readonly item?: string;
  readonly iteration?: string;
}

/** The test in the place of a kubelet: the Pods of a plane run as long as it likes, and end as it says. */
export class Kubelet {
  readonly #plane: WorkflowPlane;

  constructor(plane: WorkflowPlane) {
    this.#plane = plane;
  }

  /** What is being carried out, in the order in which it was created. Pods that are to go, go. */
  async running(): Promise<readonly Work[]> {
    return (await this.#live()).map(workOf);
  }

  /** Steps that are being carried out, in byte order. */
  async steps(): Promise<readonly string[]> {
    return (await this.running()).map(({ step }) => step).sort();
  }

  /** Ends the Pods that carry out a step, or what `wanted` says of it. */
  async end(step: string, end: ProgramEnd = {}, wanted: Partial<Work> = {}): Promise<void> {
    const chosen = (await this.#live()).filter((pod) => isWanted(workOf(pod), { step, ...wanted }));
    if (chosen.length === 0) throw new Error(`nothing carries out ${JSON.stringify({ step, ...wanted })}`);
    for (const pod of chosen) await this.#end(pod, end);
    await this.#plane.pass(100);
  }

  /** Ends these, in this order. */
  async endSome(some: readonly Work[], ends: (work: Work) => ProgramEnd = () => ({})): Promise<void> {
    const live = await this.#live();
    for (const work of some)
      for (const pod of live.filter((candidate) => isWanted(workOf(candidate), work))) await this.#end(pod, ends(work));
    await this.#plane.settle();
  }

  /** Ends everything, again and again, until nothing runs; `ends` tells how. Answers what ran, in order. */
  async endAll(ends: (work: Work) => ProgramEnd = () => ({})): Promise<readonly string[]> {
    const order: string[] = [];
    for (;;) {
      const live = await this.#live();
      if (live.length === 0) return order;
      for (const pod of live) {
        order.push(workOf(pod).step);
        await this.#end(pod, ends(workOf(pod)));
      }
      await this.#plane.pass(100);
    }
  }

  async #live(): Promise<readonly Json[]> {
    const found = await this.#plane.list(unfinished);
    for (const pod of found.filter(isLeaving)) {
      const answer = await this.#plane.api.ask("DELETE", `${pods}/${nameOf(pod)}?gracePeriodSeconds=0`);
      if (answer.status !== 200 && answer.status !== 404) throw new Error(answer.text);
    }
    if (found.some(isLeaving)) await this.#plane.settle();
    return found.filter((pod) => !isLeaving(pod)).sort((a, b) => revisionOf(a) - revisionOf(b));
  }

  async #end(pod: Json, { exitCode = 0, message }: ProgramEnd): Promise<void> {
    const terminated = { exitCode, ...(message === undefined ? {} : { message }) };
    const ended = { name: "main", image: "busybox", state: { terminated } };
    const phase = exitCode === 0 ? "Succeeded" : "Failed";
    const answer = await this.#plane.api.ask("PATCH", `${pods}/${nameOf(pod)}/status`, {
      bytes: JSON.stringify({ status: { phase, containerStatuses: [ended] } }),
      headers: types.merge,
    });
    if (answer.status !== 200) throw new Error(answer.text);
  }
}

const nameOf = (object: Json): string => String(object["metadata"]?.["name"]);
const isLeaving = (object: Json): boolean => object["metadata"]?.["deletionTimestamp"] !== undefined;
const revisionOf = (object: Json): number => Number(object["metadata"]?.["resourceVersion"]);

/** Labels of a Job or a Pod that a workflow has made. */
export const labelsOf = (object: Json): Readonly<Record<string, string>> => object["metadata"]?.["labels"] ?? {};

function workOf(object: Json): Work {
  const labels = labelsOf(object);
  const { "slipway.dev/item": item, "slipway.dev/iteration": iteration } = labels;
  return {
    step: labels["slipway.dev/step"] ?? "",
    attempt: Number(labels["slipway.dev/attempt"]),
    workflow: labels["slipway.dev/workflow"] ?? "",
    ...(item === undefined ? {} : { item }),
    ...(iteration === undefined ? {} : { iteration }),
  };
}

const isWanted = (work: Work, wanted: Partial<Work>): boolean =>
  Object.entries(wanted).every(([field, value]) => work[field as keyof Work] === value);

/** Jobs of a workflow, in the order in which they were created. */
export async function jobsOf(plane: WorkflowPlane, name = "wf"): Promise<readonly Json[]> {
  const found = await plane.list(`${jobs}?labelSelector=slipway.dev/workflow%3D${name}`);
  return [...found].sort((a, b) => createdAt(a) - createdAt(b) || revisionOf(a) - revisionOf(b));
}

const createdAt = (object: Json): number => Date.parse(String(object["metadata"]?.["creationTimestamp"]));

/** Steps of Jobs, in the order in which they were created. */
export const stepsOf = (made: readonly Json[]): readonly string[] =>
  made.map((job) => labelsOf(job)["slipway.dev/step"] ?? "");

/** The condition of this type in a status. */
export const conditionIn = (status: Json, type: string): Json | undefined =>
  (status["conditions"] as unknown as readonly Json[] | undefined)?.find((one) => String(one["type"]) === type);

/** The first container of a Job's template. */
export const containerOf = (job: Json | undefined): Json | undefined =>
  (job?.["spec"]?.["template"]?.["spec"]?.["containers"] as unknown as readonly Json[] | undefined)?.[0];
