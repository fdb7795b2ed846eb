import { text } from "node:stream/consumers";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { RpcError, service, wharfApiV5 } from "#kernel/rpc/index.ts";
import { openHttpDoor } from "../../http/index.ts";
import { createRestApi, type RestContext, sendJson } from "../../http/rest-api.ts";
import { timeText } from "../../results-api/line-json.ts";
import { formFiles } from "../../results-api/multipart.ts";

export interface OriginalBuild {
  status: string;
  readonly told: string[];
  readonly lines: { readonly message: string; readonly timestamp: string }[];
  readonly artifacts: {
    readonly name: string;
    readonly fileName: string;
    readonly data: Buffer;
    readonly via: string;
  }[];
}

export interface OriginalApi {
  readonly url: string;
  readonly builds: Map<number, OriginalBuild>;
  readonly streams: number[];
  /** Unknown paths that were requested. */
  readonly unserved: string[];
  /** Breaks the next stream after this many lines. */
  breakAfter: number | undefined;
}

const problems = "https://wharf.example/#/prob/api";

/**
 * The original's endpoints on one port: stores repetitions, has no line numbers, answers 502 for unknown builds. Build
 * 7 exists.
 */
export async function withOriginalApi(work: (api: OriginalApi) => Promise<void>): Promise<void> {
  const builds = new Map<number, OriginalBuild>([[7, { status: "Scheduling", told: [], lines: [], artifacts: [] }]]);
  const [streams, unserved]: [number[], string[]] = [[], []];
  const state = { url: "", builds, streams, unserved, breakAfter: undefined as number | undefined };
  const door = await openHttpDoor({
    address: "127.0.0.1:0",
    clock: systemClock,
    log: silentLog,
    drain: 50,
    serves: async () => ({ fetch: restOf(state).fetch, services: [buildsService(state)] }),
  });
  try {
    state.url = `http://${door.address}`;
    await work(state);
  } finally {
    await door.close();
  }
}

function restOf({ builds, unserved }: OriginalApi) {
  const api = createRestApi({ log: silentLog });
  const path = "/api/build/:id";
  const buildOf = (context: RestContext): OriginalBuild | undefined => builds.get(Number(context.req.param("id")));
  const noBuild = (context: RestContext): Response =>
    context.json({ type: `${problems}/record-not-found`, status: 502 }, 502);
  api.notFound((context) => {
    unserved.push(`${context.req.method} ${context.req.path}`);
    return context.text("404 page not found", 404);
  });
  api.get(path, (context) => {
    const build = buildOf(context);
    return build === undefined ? noBuild(context) : sendJson(context, { status: build.status });
  });
  api.put(`${path}/status`, async (context) => {
    const build = buildOf(context);
    if (build === undefined) return noBuild(context);
    const { status } = JSON.parse(await text(context.env.incoming)) as { status: string };
    build.told.push((build.status = status));
    return sendJson(context, { status });
  });
  // As in the original.
  api.get(`${path}/log`, (context) =>
    sendJson(
      context,
      (buildOf(context)?.lines ?? []).map((line, at) => ({ logId: at + 1, buildId: 7, ...line })),
    ),
  );
  api.get(`${path}/artifact`, (context) => {
    const asked = context.req.query("fileName");
    const list = (buildOf(context)?.artifacts ?? []).map(({ name, fileName }, at) => ({
      artifactId: at + 1,
      name,
      fileName,
    }));
    const found = list.filter(({ fileName }) => asked === undefined || fileName === asked);
    return sendJson(context, { list: found, totalCount: found.length });
  });
  api.get(`${path}/artifact/:artifact`, (context) => {
    const { data = Buffer.alloc(0) } = buildOf(context)?.artifacts[Number(context.req.param("artifact")) - 1] ?? {};
    return context.body(new Uint8Array(data));
  });
  const take = async (context: RestContext, via: string): Promise<readonly Buffer[]> => {
    const taken: Buffer[] = [];
    for await (const { field, fileName, bytes } of formFiles(context.env.incoming)) {
      const data = Buffer.concat(await bytes.toArray());
      if (field !== "files") continue;
      buildOf(context)?.artifacts.push({ name: field, fileName, data, via });
      taken.push(data);
    }
    return taken;
  };
  api.post(`${path}/artifact`, async (context) => {
    await take(context, "artifact");
    return context.body(null, 201);
  });
  api.post(`${path}/test-result`, async (context) => {
    const files = await take(context, "test-result");
    if (files.every((data) => data.includes("<TestRun"))) return sendJson(context, []);
    return context.json({ type: `${problems}/test-results-parse`, status: 400 }, 400);
  });
  return api;
}

const buildsService = (state: OriginalApi) =>
  service(wharfApiV5.Builds, {
    async createLogStream(requests) {
      let count = 0;
      for await (const { buildId, message, timestamp } of requests) {
        const build = state.builds.get(Number(buildId));
        if (build === undefined || message.includes("\0")) throw new RpcError("INTERNAL", "insert logs: it cannot be");
        const { seconds = 0n, nanos = 0 } = timestamp ?? {};
        // As PostgreSQL does.
        const time = { seconds: Number(seconds), nanos: nanos - (nanos % 1000) };
        build.lines.push({ message, timestamp: timeText(time) });
        if (++count !== state.breakAfter) continue;
        state.breakAfter = undefined;
        throw new RpcError("INTERNAL", "insert logs: the connection is busy");
      }
      state.streams.push(count);
      return { linesInserted: BigInt(count) };
    },
  });
