import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { deferred, type Deferred } from "#lib/base/index.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** Debian's own: its packages belong to it, and to no other Python that the machine may have. */
const python = "/usr/bin/python3";
const packages = "/usr/lib/python3/dist-packages";

/** How a call ended, and the messages it brought. */
export interface Answer {
  readonly code: string;
  readonly message: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[];
}

/** A call that is open: its messages so far, and its end. */
export interface OpenCall {
  readonly messages: Record<string, unknown>[];
  readonly end: Deferred<Answer>;
}

interface Line {
  readonly id: number;
  readonly body?: Record<string, unknown>;
  readonly code?: string;
  readonly message?: string;
}

/** Sources for the stock compiler. */
export interface Interfaces {
  readonly folder: string;
  readonly files: readonly string[];
}

const agents: Interfaces = {
  folder: `${root}proto`,
  files: [
    "internal/proto/workflow/v2/workflow.proto",
    "proto/workflow.proto",
    "proto/worker.proto",
    "slipway/agent/v1/agent.proto",
  ],
};

/** A client of another language and another library, with messages that another compiler has made of the interfaces. */
export class PythonClient {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #calls = new Map<number, OpenCall>();
  #ids = 0;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    const script = fileURLToPath(new URL("client.py", import.meta.url));
    this.#child = spawn(python, [script, `127.0.0.1:${port}`, folder], { stdio: ["pipe", "pipe", "inherit"] });
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on("line", (line) => this.#take(JSON.parse(line) as Line));
    this.#child.on("exit", () => {
      for (const { messages, end } of this.#calls.values())
        end.resolve({ code: "GONE", message: "the client has ended", messages });
    });
  }

  /** With the interfaces that agents speak, or others: files in a folder. */
  static async start(port: number, interfaces: Interfaces = agents): Promise<PythonClient> {
    for (const path of [
      `${packages}/grpc`,
      `${packages}/google/protobuf`,
      "/usr/bin/protoc",
      "/usr/include/google/protobuf",
    ])
      if (!existsSync(path)) throw new Error(`${path} is missing; run: node scripts/test-tools.mjs`);
    const folder = mkdtempSync(`${tmpdir()}/messages-`);
    await promisify(execFile)("/usr/bin/protoc", [
      `--python_out=${folder}`,
      "-I",
      interfaces.folder,
      ...interfaces.files,
    ]);
    return new PythonClient(folder, port);
  }

  open(path: string, request: string, response: string, body: object, isStream = true): OpenCall {
    const id = ++this.#ids;
    const call: OpenCall = { messages: [], end: deferred<Answer>() };
    this.#calls.set(id, call);
    this.#child.stdin?.write(`${JSON.stringify({ id, path, in: request, out: response, body, isStream })}\n`);
    return call;
  }

  /** A list for a body is a call that brings many messages. */
  async call(path: string, request: string, response: string, body: object): Promise<Answer> {
    return await this.open(path, request, response, body, false).end.promise;
  }

  /** Stops the whole process, as a machine that was unplugged: it answers nothing and ends nothing. */
  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #take({ id, body, code, message = "" }: Line): void {
    const call = this.#calls.get(id);
    if (body !== undefined) call?.messages.push(body);
    if (call !== undefined && code !== undefined) call.end.resolve({ code, message, messages: call.messages });
  }
}
