import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  messageOf,
  type Millis,
  SlipwayError,
} from "#lib/base/index.ts";
import type { Parameters } from "./parameters.ts";

/** Released provisioners return only the first four members. */
export interface ToldWorker {
  readonly workerId: string;
  readonly name: string;
  readonly status: string;
  readonly createdAt: string;
  readonly buildId: number;
  readonly projectId: number;
  readonly instance: string;
  readonly runtime: string;
  readonly address: string;
  readonly finishedAt: string | null;
  readonly message: string;
}

export interface ProvisionerAddress {
  /** The default address if it is looked up with `find`. */
  readonly url: string;
  readonly token?: string | undefined;
  /** Looks up address and token for each request; rejects if the service cannot be identified. */
  readonly find?: () => Promise<{ readonly url: string; readonly token?: string | undefined }>;
}

/** It answers from memory. */
const patienceMs: Millis = 30_000;

/** Rejects with `provisioner-refused` or `provisioner-unreachable`. */
export class ProvisionerClient {
  readonly #address: ProvisionerAddress;

  constructor(address: ProvisionerAddress) {
    this.#address = address;
  }

  async list(signal?: AbortSignal): Promise<readonly ToldWorker[]> {
    const { body } = await this.#ask("GET", "/api/worker", signal);
    if (!Array.isArray(body)) throw this.#strange("a list of workers");
    return body.map((item) => this.#worker(item));
  }

  /** `isNew` is false if the build has a worker. */
  async create(
    parameters: Parameters,
    signal?: AbortSignal,
  ): Promise<{ readonly worker: ToldWorker; readonly isNew: boolean }> {
    const { status, body } = await this.#ask("POST", "/api/worker", signal, new URLSearchParams(parameters));
    return { worker: this.#worker(body), isNew: status === 201 };
  }

  /** Missing workers are no error. */
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
    // No problem document.
  }
  return `status ${status}`;
}
