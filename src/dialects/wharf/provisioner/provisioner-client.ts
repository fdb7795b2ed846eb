import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  messageOf,
  type Millis,
  SlipwayError,
} from "#lib/base/index.ts";
import type { Parameters } from "./parameters.ts";

/** A worker as a provisioner tells of it. A released one tells the first four alone: the uid of a Pod, and its name, whose end is chance. */
export interface ToldWorker {
  readonly workerId: string;
  readonly name: string;
  readonly status: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** 0 where it is not told. */
  readonly buildId: number;
  readonly projectId: number;
  readonly instance: string;
  readonly runtime: string;
  readonly address: string;
  readonly finishedAt: string | null;
  readonly message: string;
}

/** Where a provisioner is. */
export interface ProvisionerAddress {
  /** `http://127.0.0.1:5009`. Where it usually is, of one that is looked for. */
  readonly url: string;
  readonly token?: string | undefined;
  /**
   * Of one whose address nobody has named: where it is at this moment, and the token if it asks for it. Rejects where nobody proves to be it, and then
   * nobody is asked.
   */
  readonly find?: () => Promise<{ readonly url: string; readonly token?: string | undefined }>;
}

/** It answers from memory: who takes longer is not there. */
const patienceMs: Millis = 30_000;

/** Asks a provisioner over REST. Whatever is no good answer rejects with `provisioner-refused`, or with `provisioner-unreachable`. */
export class ProvisionerClient {
  readonly #address: ProvisionerAddress;

  constructor(address: ProvisionerAddress) {
    this.#address = address;
  }

  /** All workers, the oldest first. */
  async list(signal?: AbortSignal): Promise<readonly ToldWorker[]> {
    const { body } = await this.#ask("GET", "/api/worker", signal);
    if (!Array.isArray(body)) throw this.#strange("a list of workers");
    return body.map((item) => this.#worker(item));
  }

  /** Asks for a worker. `isNew` is false where there was one for the build already. */
  async create(
    parameters: Parameters,
    signal?: AbortSignal,
  ): Promise<{ readonly worker: ToldWorker; readonly isNew: boolean }> {
    // As a form: a query would be in the logs of whatever is between.
    const { status, body } = await this.#ask("POST", "/api/worker", signal, new URLSearchParams(parameters));
    return { worker: this.#worker(body), isNew: status === 201 };
  }

  /** One that is not there is no failure. */
  async delete(workerId: string, isForced: boolean, signal?: AbortSignal): Promise<void> {
    const query = `?ignoreMissing=1${isForced ? "&force=1" : ""}`;
    await this.#ask("DELETE", `/api/worker/${encodeURIComponent(workerId)}${query}`, signal);
  }

  async #ask(
    method: string,
    path: string,
    signal?: AbortSignal,
    body?: URLSearchParams,
  ): Promise<{ readonly status: number; readonly body: JsonValue }> {
    const { url, token } = (await this.#address.find?.()) ?? this.#address;
    const limit = AbortSignal.timeout(patienceMs);
    let answer: { readonly status: number; readonly ok: boolean; readonly text: string };
    try {
      const response = await fetch(`${url.replace(/\/+$/, "")}${path}`, {
        method,
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body }),
      });
      answer = { status: response.status, ok: response.ok, text: await response.text() };
    } catch (thrown) {
      signal?.throwIfAborted();
      const problem = `the provisioner at ${url} does not answer: ${messageOf(thrown instanceof Error ? (thrown.cause ?? thrown) : thrown)}`;
      throw new SlipwayError("provisioner-unreachable", problem, {
        hint: "name another one with --url",
        cause: thrown,
      });
    }
    if (!answer.ok) {
      const how = token === undefined ? "name the file that it is in with --auth-token-file" : "it has another token";
      const more = answer.status === 401 ? { hint: how } : {};
      throw new SlipwayError("provisioner-refused", `the provisioner at ${url}: ${refusalIn(answer)}`, more);
    }
    try {
      return { status: answer.status, body: answer.text === "" ? null : (JSON.parse(answer.text) as JsonValue) };
    } catch {
      throw this.#strange("JSON");
    }
  }

  #worker(value: JsonValue | undefined): ToldWorker {
    const told: JsonObject | undefined = isJsonObject(value) ? value : undefined;
    const workerId = told?.["workerId"];
    if (told === undefined || typeof workerId !== "string") throw this.#strange("a worker with its workerId");
    const text = (name: string): string => (typeof told[name] === "string" ? told[name] : "");
    const number = (name: string): number => (typeof told[name] === "number" ? told[name] : 0);
    return {
      workerId,
      name: text("name"),
      status: text("status"),
      createdAt: text("createdAt"),
      buildId: number("buildId"),
      projectId: number("projectId"),
      instance: text("instance"),
      runtime: text("runtime"),
      address: text("address"),
      finishedAt: text("finishedAt") || null,
      message: text("message"),
    };
  }

  #strange(expected: string): SlipwayError {
    return new SlipwayError("provisioner-refused", `${this.#address.url}: expected ${expected}, found something else`);
  }
}

function refusalIn({ status, text }: { readonly status: number; readonly text: string }): string {
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === "object" && problem !== null && "detail" in problem && typeof problem.detail === "string")
      return problem.detail;
  } catch {
    // No problem JSON: the status has to do.
  }
  return `status ${status}`;
}
