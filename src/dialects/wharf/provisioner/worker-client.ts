import { type Instant, isJsonObject, type JsonObject, type Millis, parseInstant } from "#lib/base/index.ts";
import { isFinal, type StepStatus, stepStatuses } from "../results/build-document.ts";
import { askWorker, type Connect, readJsonBody } from "../worker-api/worker-rest-client.ts";

/** A worker answers at once, but for one whose machine has no time for it. */
const patience: Millis = 10_000;

/** A worker as whoever has started it asks it. */
export interface AskedWorker {
  readonly connect: Connect;
  /** What it asks of everybody; undefined where it asks for nothing. */
  readonly token: string | undefined;
}

/** What a worker says of its build. */
export interface ToldBuild {
  readonly status: StepStatus;
  /** Nothing is added to its results any more. */
  readonly isOver: boolean;
  readonly finishedAt: Instant | undefined;
  readonly message: string | undefined;
}

/** Whether something that speaks as a worker does, and takes the token, answers. */
export const answersPing = async (worker: AskedWorker): Promise<boolean> =>
  (await ask(worker, "GET", "/")) !== undefined;

/** Asks a worker to end its build. False when it has not heard of it. */
export const askToCancel = async (worker: AskedWorker): Promise<boolean> =>
  (await ask(worker, "POST", "/api/build/cancel")) !== undefined;

/** What a worker says of its build; undefined while there is none, and where nobody answers. */
export async function askForBuild(worker: AskedWorker): Promise<ToldBuild | undefined> {
  const told = await ask(worker, "GET", "/api/build");
  const status = stepStatuses.find((word) => word === told?.["status"]);
  if (told === undefined || status === undefined) return undefined;
  const text = (name: string): string | undefined => (typeof told[name] === "string" ? told[name] : undefined);
  const finishedAt = text("finishedAt");
  return {
    status,
    isOver: told["frozen"] === true && isFinal(status),
    finishedAt: finishedAt === undefined ? undefined : parseInstant(finishedAt),
    message: text("message"),
  };
}

/** The body of a good answer; an empty one for what is no JSON. */
async function ask(
  { connect, token }: AskedWorker,
  method: "GET" | "POST",
  path: string,
): Promise<JsonObject | undefined> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  try {
    const answer = await askWorker(connect, { method, path, headers }, AbortSignal.timeout(patience));
    if (answer.status >= 300) return void answer.body.destroy();
    const body = await readJsonBody(answer).catch(() => undefined);
    return isJsonObject(body) ? body : {};
  } catch {
    // Nobody is there, or somebody who does not speak HTTP: both mean that it is no worker that can be spoken to.
    return undefined;
  }
}
