import { quantile } from "../harness/statistics.ts";
import type { Endpoint } from "../ours/items.ts";
import type { Measured } from "../harness/types.ts";
import { HttpConnection, requestHead } from "./http-connection.ts";

// W1: one Workflow whose step fans out, followed by a watch until its end, while somebody else reads a small object all the time.

const workflows = "/apis/slipway.dev/v1alpha1/namespaces/default/workflows";
const small = "/api/v1/namespaces/default";
/** Between two reads: many enough for a quantile, few enough not to be the load. */
const readEveryMs = 20;

export interface FanOutLoad extends Endpoint {
  readonly items: number;
  readonly maxParallel: number;
}

/** `p99` is that of the reads; the largest size of the object is in the note. */
export async function run({ items, maxParallel, ...endpoint }: FanOutLoad): Promise<Omit<Measured, "cpuUs">> {
  const headers = { Authorization: `Bearer ${endpoint.token}` };
  const [writer, watch, reader] = await Promise.all([0, 1, 2].map(() => HttpConnection.open(endpoint)));
  if (writer === undefined || watch === undefined || reader === undefined) throw new Error("not connected");
  const body = JSON.stringify(workflowOf(items, maxParallel));
  const length = Buffer.byteLength(body);
  const post = { ...headers, "Content-Type": "application/json", "Content-Length": length };
  const start = performance.now();
  const answer = await writer.send(requestHead("POST", workflows, post) + body);
  if (answer.status !== 201) throw new Error(`POST was answered with ${answer.status}: ${answer.body.toString()}`);
  const reads = readAllTheTime(reader, requestHead("GET", small, headers));
  const bytes = await followToEnd(watch, requestHead("GET", `${workflows}?watch=1`, headers), items);
  const ms = performance.now() - start;
  const waits = (await reads.stop()).sort((a, b) => a - b);
  for (const connection of [writer, watch, reader]) connection.close();
  const note = `object at most ${(bytes / 1024).toFixed(1)} KiB, ${waits.length} reads`;
  return { ops: items, ms, p50: quantile(waits, 0.5), p99: quantile(waits, 0.99), rssBytes: bytes, note };
}

const workflowOf = (items: number, maxParallel: number) => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "fan-out" },
  spec: {
    steps: {
      each: {
        forEach: { items: Array.from({ length: items }, (_, index) => index), maxParallel, limit: items },
        container: { image: "none", command: ["true"] },
      },
    },
  },
});

interface Watched {
  readonly object: {
    readonly status?: {
      readonly phase?: string;
      readonly statuses?: { readonly each?: { readonly items?: { readonly states: string } } };
    };
  };
}

/** The largest size the object had. Every item has to have succeeded. */
async function followToEnd(watch: HttpConnection, request: string, items: number): Promise<number> {
  let largest = 0;
  for await (const line of watch.lines(request)) {
    largest = Math.max(largest, line.length);
    if (line.indexOf('"completionTime"') < 0) continue;
    const { status } = (JSON.parse(line.toString("utf8")) as Watched).object;
    const states = status?.statuses?.each?.items?.states;
    if (status?.phase !== "Succeeded" || states !== `${items}S`) throw new Error(`${status?.phase} with ${states}`);
    return largest;
  }
  throw new Error("the watch ended before the run");
}

function readAllTheTime(reader: HttpConnection, request: string): { stop(): Promise<number[]> } {
  const waits: number[] = [];
  const over = new AbortController();
  const reading = (async () => {
    while (!over.signal.aborted) {
      const start = performance.now();
      const { status } = await reader.send(request);
      if (status !== 200) throw new Error(`GET was answered with ${status}`);
      waits.push(performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, readEveryMs));
    }
  })();
  return {
    async stop() {
      over.abort();
      await reading;
      return waits;
    },
  };
}
