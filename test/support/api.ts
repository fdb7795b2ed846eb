import { readFile } from "node:fs/promises";
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { createInterface } from "node:readline";
import { within } from "./within.ts";

// The API of a server under test without any client of ours in between: bytes, codes and headers as they are.

/** What was answered; `json` is undefined for other bodies. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: ApiObject;
}

/** Any object of the API, or a Status. */
export interface ApiObject {
  readonly kind?: string;
  readonly reason?: string;
  readonly metadata?: {
    readonly name?: string;
    readonly resourceVersion?: string;
    readonly creationTimestamp?: string;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly items?: readonly ApiObject[];
}

export interface ApiEvent {
  readonly type: string;
  readonly object: ApiObject;
}

export interface Api {
  /** Rejects when the connection breaks. */
  ask(method: string, path: string, body?: object): Promise<ApiAnswer>;
  /** Events until the server ends, or whoever reads them leaves; ends quietly also when it is killed. Resolves when the stream has begun. */
  watch(path: string): Promise<AsyncIterable<ApiEvent>>;
  close(): void;
}

/** Speaks as the administrator of a kubeconfig that `slipway up` wrote. */
export async function connectApi(url: string, kubeconfig: string): Promise<Api> {
  const text = await readFile(kubeconfig, "utf8");
  const field = (name: string) => new RegExp(`"?${name}"?: *"?([^",\\s]+)`).exec(text)?.[1] ?? "";
  const ca = Buffer.from(field("certificate-authority-data"), "base64");
  const headers = { Authorization: `Bearer ${field("token")}` };
  const agent = new Agent({ keepAlive: true, ca });
  const send = async (method: string, path: string, body?: object): Promise<IncomingMessage> => {
    const outgoing = request(new URL(path, url), { method, agent, headers });
    outgoing.setHeader("Content-Type", "application/json");
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    const answer = once(outgoing, "response") as Promise<[IncomingMessage]>;
    const [response] = await within(60_000, `${method} ${path} is answered`, answer);
    // Once the answer has begun its reader hears of what breaks.
    outgoing.on("error", () => undefined);
    return response;
  };
  return {
    async ask(method, path, body) {
      const response = await send(method, path, body);
      const chunks: Buffer[] = [];
      for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString("utf8");
      const json = (text.startsWith("{") ? JSON.parse(text) : {}) as ApiObject;
      return { status: response.statusCode ?? 0, headers: response.headers, text, json };
    },
    async watch(path) {
      const response = await send("GET", path);
      if (response.statusCode !== 200) throw new Error(`the watch was answered with ${response.statusCode}`);
      response.on("error", () => undefined);
      return events(response);
    },
    close: () => agent.destroy(),
  };
}

async function* events(response: IncomingMessage): AsyncGenerator<ApiEvent, void> {
  let isWhole = true;
  response.on("aborted", () => (isWhole = false));
  // Lines pass on what breaks their input, also when nobody waits for them any more.
  const lines = createInterface({ input: response }).on("error", () => undefined);
  try {
    for await (const line of lines) {
      try {
        yield JSON.parse(line) as ApiEvent;
      } catch (thrown) {
        // The last line of a server that died may be half a line.
        if (isWhole && line.endsWith("}")) throw thrown;
      }
    }
  } finally {
    response.destroy();
  }
}
