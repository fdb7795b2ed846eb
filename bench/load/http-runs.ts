import { type ClosedFigures, type ClosedLoad, closedLoop } from "../harness/closed-loop.ts";
import type { Endpoint } from "../ours/items.ts";
import { type RunKind, workflowOf } from "../ours/workflows.ts";
import { HttpConnection, requestHead } from "./http-connection.ts";

// B1, B2, B13: callers that create Workflows over HTTPS and wait until one watch, shared by all of them, shows the end.

const path = "/apis/slipway.dev/v1alpha1/namespaces/default/workflows";

interface Connected {
  readonly endpoint: Endpoint;
  readonly connections: readonly HttpConnection[];
  readonly watch: HttpConnection;
  readonly waiting: Map<string, (object: WatchedRun) => void>;
}

interface WatchedRun {
  readonly metadata: { readonly name: string };
  readonly status: { readonly phase: string };
}

let connected: Connected | undefined;

export async function connect({
  connections,
  ...endpoint
}: Endpoint & { readonly connections: number }): Promise<void> {
  const open = Array.from({ length: connections }, () => HttpConnection.open(endpoint));
  const watch = await HttpConnection.open(endpoint);
  const state: Connected = { endpoint, connections: await Promise.all(open), watch, waiting: new Map() };
  connected = state;
  void follow(state).catch((thrown: unknown) => {
    if (connected === state) console.error(thrown);
  });
}

async function follow({ endpoint, watch, waiting }: Connected): Promise<void> {
  const request = requestHead("GET", `${path}?watch=1`, { Authorization: `Bearer ${endpoint.token}` });
  for await (const line of watch.lines(request)) {
    // Only the last state of a run has it; the others need not be parsed.
    if (line.indexOf('"completionTime"') < 0) continue;
    const { object } = JSON.parse(line.toString("utf8")) as { readonly object: WatchedRun };
    waiting.get(object.metadata.name)?.(object);
    waiting.delete(object.metadata.name);
  }
}

export async function run({ kind, ...load }: ClosedLoad & { readonly kind: RunKind }): Promise<ClosedFigures> {
  const state = connected;
  if (state === undefined) throw new Error("not connected");
  const { spec, ...envelope } = workflowOf(kind, "");
  const body = JSON.stringify({ ...envelope, metadata: { name: "@name@" }, spec });
  return await closedLoop(load, async (id, caller) => {
    const name = `run-${id}`;
    const ended = new Promise<WatchedRun>((resolve) => state.waiting.set(name, resolve));
    const text = body.replace("@name@", name);
    const head = requestHead("POST", path, {
      Authorization: `Bearer ${state.endpoint.token}`,
      "Content-Type": "application/json",
      "Content-Length": text.length,
    });
    const answer = await state.connections[caller]?.send(head + text);
    if (answer?.status !== 201) throw new Error(`POST was answered with ${answer?.status}: ${answer?.body.toString()}`);
    const { status } = await ended;
    if (status.phase !== "Succeeded") throw new Error(`${name} is ${status.phase}`);
  });
}

export function disconnect(): void {
  const state = connected;
  connected = undefined;
  state?.watch.close();
  for (const connection of state?.connections ?? []) connection.close();
}
