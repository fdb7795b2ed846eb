import { type Instant, isJsonObject, type JsonObject, type Millis, parseInstant } from "#lib/base/index.ts";
import { isFinal, type StepStatus, stepStatuses } from "../results/build-document.ts";
import { askWorker, type Connect, readJsonBody } from "../worker-api/worker-rest-client.ts";

const patience: Millis = 10_000;

export interface AskedWorker {
  readonly connect: Connect;
  readonly token: string | undefined;
}

export interface ToldBuild {
  readonly status: StepStatus;
  readonly isOver: boolean;
  readonly finishedAt: Instant | undefined;
  readonly message: string | undefined;
}

export const answersPing = async (worker: AskedWorker): Promise<boolean> =>
  (await ask(worker, "GET", "/")) !== undefined;

/** False if the request failed. */
export const askToCancel = async (worker: AskedWorker): Promise<boolean> =>
  (await ask(worker, "POST", "/api/build/cancel")) !== undefined;

/** Undefined without a build or an answer. */
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
    // No worker, or none that answers HTTP.
    return undefined;
  }
}
