import { spawn } from "node:child_process";
import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  messageOf,
  type Millis,
  numberAt,
  textAt,
} from "#lib/base/index.ts";

/** `unknown`: no plugin offers it; `failed`: it ran, or could not. */
export type ActionOutcome =
  | { readonly kind: "done"; readonly result: JsonValue }
  | { readonly kind: "unknown" | "invalid" | "failed"; readonly reason: string; readonly output: string };

export type CommandRun = (described: JsonValue, sent: JsonObject, signal: AbortSignal) => Promise<ActionOutcome>;

/** Of output kept from a program or service. */
const mostOutput = 2 ** 20;

const failed = (reason: string, output = ""): ActionOutcome => ({ kind: "failed", reason, output });

const resultOf = (text: string): ActionOutcome => ({ kind: "done", result: parsed(text) });

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // Plain text is a result, too.
    return text;
  }
}

/** `argv`, or an object with it. The program gets JSON on its standard input and the server's PATH, nothing else. */
export async function runExec(described: JsonValue, sent: JsonObject, signal: AbortSignal): Promise<ActionOutcome> {
  const list = isJsonObject(described) ? described["argv"] : described;
  const argv = Array.isArray(list) ? list.filter((item) => typeof item === "string") : [];
  const [program, ...args] = argv;
  if (program === undefined) return failed("exec/commands: expected a list of a program and its arguments");
  return await new Promise((resolve) => {
    const child = spawn(program, args, { signal, stdio: "pipe", env: { PATH: "/usr/local/bin:/usr/bin:/bin" } });
    const [output, errors] = [new Bounded(), new Bounded()];
    child.stdout.on("data", (chunk: Buffer) => output.add(chunk));
    child.stderr.on("data", (chunk: Buffer) => errors.add(chunk));
    child.once("error", (thrown) => resolve(failed(messageOf(thrown), errors.text)));
    child.once("close", (code, killed) => {
      if (code === 0) return resolve(resultOf(output.text));
      resolve(failed(killed === null ? `exit code ${code}` : `killed by ${killed}`, output.text + errors.text));
    });
    // The program need not read its input.
    child.stdin.on("error", () => undefined);
    child.stdin.end(JSON.stringify(sent));
  });
}

/**
 * This host and metadata services of clouds. Whoever may write plugins reaches them in the server's place, and reads
 * what they answer, only where plugins may run programs here anyway.
 */
export const ownNetworks: readonly string[] = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "::/127",
  "fe80::/10",
  "fd00:ec2::254/128",
];

const longestAction: Millis = 600_000;

export interface HttpAction {
  readonly described: JsonValue;
  /** Of the plugin. */
  readonly params: JsonObject;
  readonly command: string;
  readonly sent: JsonObject;
}

/** POSTs to the plugin's `http/url`, for ten minutes at most. */
export async function runHttp(
  { described, params, command, sent }: HttpAction,
  around: { readonly denied: readonly string[]; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ActionOutcome> {
  const url = textAt(described, "url") ?? textAt(params, "http/url");
  if (url === undefined || !URL.canParse(url)) return failed("http/url: expected a URL");
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ command, ...sent });
  const request = { kind: "http", method: "POST", url, headers, body, timeoutMs: longestAction } as const;
  const { performHttp } = await import("#kernel/couriers/index.ts");
  // Redirects would carry the machine elsewhere.
  const answer = await performHttp(request, { ...around, mostRedirects: 0 });
  if (!answer.ok) return failed(answer.message);
  const [status, text] = [numberAt(answer.value, "statusCode") ?? 0, textAt(answer.value, "body") ?? ""];
  return status >= 200 && status < 300
    ? resultOf(text)
    : failed(`${url} answered ${status}`, text.slice(0, mostOutput));
}

/** Keeps the beginning. */
class Bounded {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  add(chunk: Buffer): void {
    if (this.#size >= mostOutput) return;
    this.#chunks.push(chunk.subarray(0, mostOutput - this.#size));
    this.#size += chunk.length;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}
