import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import type { Kubectl } from "./kubectl.ts";
import { root, slipway } from "./slipway.ts";

// Applications as people write them, and what their steps talk to.

/** A component that is a ConfigMap: healthy as soon as it exists. */
export const configMap = (name: string, data: Readonly<Record<string, string>>): JsonObject => ({
  name,
  type: "k8s-objects",
  properties: { objects: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { ...data } }] },
});

export const application = (name: string, spec: JsonObject): JsonObject => ({
  apiVersion: "core.oam.dev/v1beta1",
  kind: "Application",
  metadata: { name },
  spec,
});

export const workflowRun = (name: string, steps: readonly JsonObject[], spec: JsonObject = {}): JsonObject => ({
  apiVersion: "core.oam.dev/v1alpha1",
  kind: "WorkflowRun",
  metadata: { name },
  spec: { workflowSpec: { steps: [...steps] }, ...spec },
});

export const stepDefinition = (name: string, template: string): JsonObject => ({
  apiVersion: "core.oam.dev/v1beta1",
  kind: "WorkflowStepDefinition",
  metadata: { name },
  spec: { schematic: { cue: { template } } },
});

/** As much of the status of a run as is looked at. */
export interface RunStatus {
  readonly status?: string;
  readonly suspend?: boolean;
  readonly message?: string;
  readonly steps?: readonly StepStatus[];
}

export interface StepStatus {
  readonly name: string;
  readonly phase: string;
  readonly reason?: string;
  readonly message?: string;
  readonly resourceRef?: { readonly kind?: string; readonly name?: string };
  readonly subSteps?: readonly StepStatus[];
}

/** What people do with kubectl. */
export function velaWith(kubectl: () => Kubectl) {
  const read = async (what: string, path: string): Promise<string> =>
    await kubectl().must(["get", what, "-o", `jsonpath=${path}`]);
  return {
    apply: (...objects: readonly JsonObject[]): Promise<string> =>
      kubectl().must(["apply", "-f", "-"], {
        input: JSON.stringify({ apiVersion: "v1", kind: "List", items: [...objects] }),
      }),
    read,
    workflowOf: async (name: string): Promise<RunStatus> =>
      JSON.parse((await read(`app/${name}`, "{.status.workflow}")) || "{}") as RunStatus,
    /** `kubectl wait`, as the specification has it. */
    until: (what: string, path: string, value: string): Promise<string> =>
      kubectl().must(["wait", what, `--for=jsonpath={${path}}=${value}`, "--timeout=80s"]),
    /** The objects in the ConfigMap of a revision. */
    renderedIn: async (revision: string): Promise<readonly JsonObject[]> => {
      const data = JSON.parse(await read(`configmap/${revision}`, "{.data}")) as Readonly<Record<string, string>>;
      return Object.values(data).map((text) => JSON.parse(text) as JsonObject);
    },
    /** Reasons and messages of the events of an object, after the number of their repetitions if there are any. */
    events: async (name: string): Promise<readonly string[]> => {
      const path = "{range .items[*]}{.series.count}x {.reason}: {.message}{'\\n'}{end}";
      const words = ["get", "events", "--field-selector", `involvedObject.name=${name}`, "-o", `jsonpath=${path}`];
      return (await kubectl().must(words)).split("\n").filter((line) => line !== "");
    },
  };
}

/** The objects that a dry run prints, in any order. */
export async function dryRun(...files: readonly string[]): Promise<readonly JsonObject[]> {
  const { code, out, err } = await slipway(["dry-run", ...files.flatMap((file) => ["-f", file])]);
  const read = readYaml(out);
  if (code !== 0 || !read.ok) throw new Error(`dry-run ended with ${code}: ${err}${out}`);
  return read.value.documents.flatMap(({ value }) => (isJsonObject(value) ? [value] : []));
}

/** Text of an example. */
export const example = (name: string): Promise<string> => readFile(join(root, "examples/vela", name), "utf8");

interface Receiver {
  readonly port: number;
  /** What has arrived: method and path, or subject. */
  readonly arrived: string[];
  close(): Promise<void>;
}

async function listening(server: Server, arrived: string[]): Promise<Receiver> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    arrived,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** An HTTP server that counts, and answers with the number at the end of the path, or what `answer` says. */
export async function httpReceiver(answer: (path: string) => number = () => 200): Promise<Receiver> {
  const arrived: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    request.resume().on("end", () => {
      arrived.push(`${request.method ?? ""} ${path}`);
      response.writeHead(answer(path), { connection: "close" }).end("{}");
    });
  });
  return await listening(server, arrived);
}

interface Requests {
  /** Bodies of the answers with code 200, in order. */
  readonly answers: readonly string[];
  readonly failures: readonly string[];
  end(): Promise<void>;
}

/** Requests one after another, each by a connection of its own, until `end`. */
export function requestsTo(url: string): Requests {
  const [answers, failures]: [string[], string[]] = [[], []];
  const state = { isOver: false };
  const ask = async () => {
    const response = await fetch(url, { headers: { connection: "close" }, signal: AbortSignal.timeout(10_000) });
    const text = await response.text();
    if (response.status === 200) answers.push(text);
    else failures.push(`${response.status} ${text}`);
  };
  const asking = (async () => {
    while (!state.isOver) {
      await ask().catch((thrown: unknown) => failures.push(String((thrown as Error).cause ?? thrown)));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  return {
    answers,
    failures,
    end: async () => {
      state.isOver = true;
      await asking;
    },
  };
}

/** A mail server that counts the subjects of what it has accepted. */
export async function mailReceiver(): Promise<Receiver> {
  const arrived: string[] = [];
  const server = createTcpServer((socket) => {
    const say = (line: string) => socket.writable && socket.write(`${line}\r\n`);
    let subject: string | undefined;
    let isData = false;
    socket.on("error", () => undefined);
    say("220 mail.test ESMTP");
    createInterface({ input: socket }).on("line", (line) => {
      if (isData) {
        if (line.startsWith("Subject: ")) subject = line.slice("Subject: ".length);
        if (line !== ".") return;
        isData = false;
        arrived.push(subject ?? "");
        say("250 accepted");
      } else if (line.startsWith("DATA")) {
        isData = true;
        say("354 go on");
      } else if (line.startsWith("QUIT")) {
        say("221 bye");
        socket.end();
      } else say(line.startsWith("EHLO") ? "250 mail.test" : "250 ok");
    });
  });
  return await listening(server, arrived);
}
