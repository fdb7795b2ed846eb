import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, type JsonObject, SlipwayError } from "#lib/base/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { Secret } from "#kernel/model/index.ts";
import { CacheEntry } from "../cache/kind.ts";
import { Workflow, type WorkflowSpec, WorkflowTemplate } from "../kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { ConcurrencyLimit } from "../locks/kind.ts";
import { ScheduledWorkflow } from "../schedule/kind.ts";
import { Harness, job, namespace } from "../testing/harness.ts";

interface Post {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let posts: Post[];
let answer: (path: string) => number | "hang";
let server: Server;
let url: string;
let clock: FakeClock;
let store: MemoryClient;
let harness: Harness;
let isAllowed: boolean;
/** Status writes fail from now on, as where the process has died. */
let isDead: boolean;

beforeEach(async () => {
  posts = [];
  answer = () => 204;
  isAllowed = true;
  isDead = false;
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const path = request.url ?? "";
      posts.push({ path, headers: request.headers, body });
      const code = answer(path);
      if (code === "hang") return;
      if (code === 101) return void response.writeHead(code, { connection: "upgrade", upgrade: "other" }).end();
      response.writeHead(code, code === 302 ? { location: `${url}/elsewhere` } : {}).end("x".repeat(100_000));
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  clock = new FakeClock();
  const types = [Workflow, WorkflowTemplate, ScheduledWorkflow, RunAction, ConcurrencyLimit, CacheEntry];
  store = memoryClient({ clock, types });
  harness = boot();
});

afterEach(async () => {
  isDead = false;
  await harness.close();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

/** The API answers what the writer may reach, and does not answer those who are dead. */
const boot = (): Harness =>
  new Harness({
    store,
    clock,
    wrap: (client) =>
      new Proxy(client, {
        get(target, name, receiver) {
          const value: unknown = Reflect.get(target, name, receiver);
          if (typeof value !== "function") return value;
          return (...args: readonly unknown[]): unknown => {
            if (isDead) throw new SlipwayError("connection-failed", "the process is dead");
            const [type] = args as [{ readonly kind?: string } | undefined];
            if (name === "create" && type?.kind === "SelfSubjectAccessReview")
              return Promise.resolve({ status: { allowed: isAllowed } });
            return Reflect.apply(value, target, args);
          };
        },
      }),
  });

const telling = (notification: JsonObject, more: Partial<WorkflowSpec> = {}): WorkflowSpec =>
  ({ steps: { a: job() }, notifications: [notification], ...more }) as WorkflowSpec;

const everything = ["Started", "Succeeded", "Failed", "Canceled", "ApprovalNeeded", "StepFailed"];
const events = (): readonly string[] => posts.map(({ body }) => JSON.parse(body).id.split("/").slice(1).join("/"));
const notificationsOf = async () => (await harness.status()).notifications;
/** Requests are real, and take their time. */
const until = async (count: number) => {
  await expect.poll(() => posts.length, { interval: 5 }).toBe(count);
};
const settled = async (wanted: JsonObject) =>
  await expect
    .poll(
      async () => {
        await harness.settle();
        return await notificationsOf();
      },
      { interval: 5 },
    )
    .toMatchObject(wanted);

describe("a run tells", () => {
  test("that it has started and succeeded, as CloudEvents in structured mode", async () => {
    const { metadata } = await harness.create(telling({ on: everything, url }));
    await until(1);
    await harness.end("a");
    await until(2);
    expect(events()).toEqual(["1/Started", "1/Succeeded"]);
    const [first] = posts;
    expect(first?.headers["content-type"]).toBe("application/cloudevents+json; charset=utf-8");
    expect(JSON.parse(first?.body ?? "")).toEqual({
      specversion: "1.0",
      id: `${metadata.uid}/1/Started`,
      source: "/apis/slipway.dev/v1alpha1/namespaces/default/workflows/wf",
      type: "dev.slipway.workflow.Started",
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      datacontenttype: "application/json",
      data: { event: "Started", workflow: { name: "wf", namespace, uid: metadata.uid }, runNumber: 1 },
    });
    await settled({ delivered: 2 });
    expect(await notificationsOf()).toEqual({ delivered: 2 });
  });

  test("which steps have failed, and of each run under an id of its own", async () => {
    await harness.create(telling({ on: ["Failed", "StepFailed"], url }));
    await harness.end("a", { exitCode: 3 });
    await until(2);
    await harness.act("retry");
    await harness.end("a", { exitCode: 4 });
    await until(4);
    expect([...events()].sort()).toEqual(["1/Failed", "1/StepFailed/a", "2/Failed", "2/StepFailed/a"]);
    const failed = posts.map(({ body }) => JSON.parse(body).data).find(({ event }) => event === "StepFailed");
    expect(failed).toMatchObject({ step: "a", message: "Error: exit code 3" });
  });

  test("which questions wait for an answer, and that it was canceled, in a line of text", async () => {
    const steps = { ask: { approval: { message: "Really?" } } };
    await harness.create(telling({ on: ["ApprovalNeeded", "Canceled"], url, format: "text" }, { steps }));
    await until(1);
    expect(posts[0]).toMatchObject({
      body: "Workflow default/wf: ApprovalNeeded: ask: Really?\n",
      headers: {
        "content-type": "text/plain; charset=utf-8",
        "slipway-event-id": expect.stringMatching(/\/1\/ApprovalNeeded\/ask$/),
      },
    });
    await harness.act("cancel");
    await until(2);
    expect(posts[1]?.body).toMatch(/^Workflow default\/wf: Canceled: /);
  });

  test("where a Secret says", async () => {
    const data = { hook: Buffer.from(`${url}/from-secret\n`).toString("base64") };
    await store.create(Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "chat", namespace },
      data,
    } as never);
    await harness.create(telling({ on: ["Started"], secretRef: { name: "chat", key: "hook" } }));
    await until(1);
    expect(posts[0]?.path).toBe("/from-secret");
    expect(JSON.stringify(await harness.workflow())).not.toContain("from-secret");
  });

  test("nothing that nobody asked for", async () => {
    await harness.create(telling({ on: ["Failed"], url }));
    await harness.end("a");
    expect((await harness.status()).phase).toBe("Succeeded");
    expect(await notificationsOf()).toBeUndefined();
  });
});

describe("a target that", () => {
  test("fails is tried again after growing pauses, and the run goes on meanwhile", async () => {
    answer = () => 503;
    await harness.create(telling({ on: ["Started"], url }));
    await until(1);
    await settled({ owed: [{ event: "Started", problem: "the answer was 503" }] });
    await harness.end("a");
    expect((await harness.status()).phase).toBe("Succeeded");
    answer = () => 200;
    await harness.pass(1_000);
    await until(2);
    expect(new Set(posts.map(({ headers }) => headers["slipway-event-id"])).size).toBe(1);
    await settled({ delivered: 1 });
  });

  test("redirects has failed, and nobody follows", async () => {
    answer = () => 302;
    await harness.create(telling({ on: ["Started"], url }));
    await settled({ owed: [{ problem: "the answer was 302" }] });
    expect(posts.map(({ path }) => path)).toEqual(["/"]);
  });

  test("hangs is given up after ten seconds, and holds up no other", async () => {
    answer = (path) => (path === "/slow" ? "hang" : 204);
    const notifications = [
      { on: ["Started"], url: `${url}/slow` },
      { on: ["Started"], url: `${url}/fast` },
    ] as const;
    await harness.create({ steps: { a: job() }, notifications });
    await until(2);
    await harness.pass(10_000);
    await settled({ delivered: 1, owed: [{ to: 0, problem: "no answer within 10 s" }] });
  });

  test("wants to speak another protocol has failed", async () => {
    answer = () => 101;
    await harness.create(telling({ on: ["Started"], url }));
    await settled({ owed: [{ problem: "the connection was closed without an answer" }] });
  });

  test("never answers well is given up after an hour, which is told; until then a finished run is kept", async () => {
    answer = () => 500;
    await harness.create(telling({ on: ["Succeeded"], url }, { ttlSecondsAfterFinished: 0 }));
    await harness.end("a");
    await settled({ owed: [{ problem: "the answer was 500" }] });
    for (let minute = 0; minute < 70 && (await harness.exists()); minute++) {
      const before = posts.length;
      await harness.pass(60_000);
      // The request of this minute, if there is one, comes to its end in its own time.
      if (posts.length === before) await new Promise((turn) => setImmediate(turn));
      await harness.settle();
    }
    await expect.poll(() => harness.exists(), { interval: 5 }).toBe(false);
    const told = harness.events.filter(({ reason }) => reason === "NotificationFailed");
    expect(told.map(({ note }) => note)).toEqual([
      "notification 0 of Succeeded was given up after an hour: the answer was 500",
    ]);
    expect(posts.length).toBeGreaterThan(5);
    expect(posts.length).toBeLessThan(30);
  });

  test.each([
    ["in a net of ours", () => url, /not public/],
    ["a name for it", () => url.replace("127.0.0.1", "localhost"), /not public/],
  ])("is %s is not posted to without the right to", async (_what, target, problem) => {
    isAllowed = false;
    await harness.create(telling({ on: ["Started"], url: target() }));
    await settled({ owed: [{ problem: expect.stringMatching(problem) }] });
    expect(posts).toEqual([]);
  });
});

test("what was posted when the process died is posted again under the same id, and what was not is not lost", async () => {
  // The status that tells of the end is stored, and so is what is owed; that it was delivered is not.
  answer = () => {
    isDead = true;
    return 204;
  };
  await harness.create(telling({ on: ["Started"], url }));
  await until(1);
  await harness.close();
  isDead = false;
  answer = () => 204;
  harness = boot();
  await harness.settle();
  await until(2);
  expect(posts[0]?.headers["slipway-event-id"]).toBe(posts[1]?.headers["slipway-event-id"]);
  await settled({ delivered: 1 });
});
