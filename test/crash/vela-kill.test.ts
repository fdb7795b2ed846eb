import { randomInt } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type JsonObject, sleep, systemClock } from "#lib/base/index.ts";
import { seededRandom } from "#kernel/kit/testing/index.ts";
import { type Api, connectApi } from "#test/support/api.ts";
import { rounds } from "#test/support/rounds.ts";
import { endRunner, removeDirectory, startServer, temporaryDirectory, type TestServer } from "#test/support/slipway.ts";
import { httpReceiver, mailReceiver, type RunStatus, stepDefinition, workflowRun } from "#test/support/vela.ts";

// 17.19: the server is killed with its whole process group at random moments of workflows with requests, mails and
// applied objects, and started again. Each request and each mail arrives exactly once, and the run ends as one that
// nobody disturbed. SLIPWAY_CRASH_SEED repeats the moments.

const seed = Number(process.env["SLIPWAY_CRASH_SEED"] ?? randomInt(2 ** 31));
const random = seededRandom(seed);
const kills = rounds(2, 50);
/** So many runs are struck by each kill, each at a moment of its own: a kill costs a start, a run does not. */
const atOnce = rounds(2, 4);
/** On the busiest machine. */
const patienceMs = 120_000;
const namespace = "/apis/core.oam.dev/v1alpha1/namespaces/default";
const definitions = "/apis/core.oam.dev/v1beta1/namespaces/default/workflowstepdefinitions";

let directory: string;
let server: TestServer;
let api: Api;
let hooks: Awaited<ReturnType<typeof httpReceiver>>;
let mails: Awaited<ReturnType<typeof mailReceiver>>;

const templates = {
  post: `import "vela/http"
post: http.#HTTPPost & {$params: {url: parameter.url + "/" + context.name + "/" + context.stepName, request: body: "{}"}}
output: code: post.$returns.statusCode
parameter: url: string`,
  mail: `import "vela/email"
mail: email.#SendEmail & {$params: {
  from: {address: "a@mail.test", password: "", host: "127.0.0.1", port: parameter.port}
  to: ["b@mail.test"]
  content: {subject: context.name + "/" + context.stepName, body: "text"}
}}
parameter: port: int`,
  // The request must not be repeated when a later action suspends.
  "post-then-hold": `import ("vela/http", "vela/builtin")
post: http.#HTTPPost & {$params: {url: parameter.url + "/" + context.name + "/" + context.stepName, request: body: "{}"}}
hold: builtin.#Suspend & {$params: duration: "1s"}
after: http.#HTTPPut & {$params: {url: parameter.url + "/" + context.name + "/" + context.stepName, request: body: "{}"}}
parameter: url: string`,
};

const steps = (): readonly JsonObject[] => {
  const url = { url: `http://127.0.0.1:${hooks.port}` };
  const post = (name: string, more: JsonObject = {}): JsonObject => ({ name, type: "post", properties: url, ...more });
  const mail = (name: string, more: JsonObject = {}): JsonObject => ({
    name,
    type: "mail",
    properties: { port: mails.port },
    ...more,
  });
  const apply = (name: string, more: JsonObject = {}): JsonObject => ({
    name,
    type: "apply-object",
    properties: { value: { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "b" } } },
    ...more,
  });
  return [
    post("one", { outputs: [{ name: "code", valueFrom: "output.code" }] }),
    apply("two"),
    mail("three"),
    { name: "four", type: "post-then-hold", properties: url },
    {
      name: "five",
      type: "step-group",
      subSteps: [post("six"), mail("seven"), apply("eight", { dependsOn: ["six"] })],
    },
    post("nine", { inputs: [{ from: "code" }], if: "inputs.code == 200" }),
    apply("ten", { if: "status.nine.failed" }),
    mail("eleven", { if: "always" }),
    apply("twelve"),
  ];
};

/** What a run sends, each once. */
const effectsOf = (name: string) => ({
  requests: ["POST one", "POST four", "PUT four", "POST six", "POST nine"].map((words) => {
    const [method = "", step = ""] = words.split(" ");
    return `${method} /${name}/${step}`;
  }),
  mails: ["three", "seven", "eleven"].map((step) => `${name}/${step}`),
});

async function start(): Promise<void> {
  server = await startServer(directory);
  api = await connectApi(server.url, server.kubeconfig);
}

beforeAll(async () => {
  directory = await temporaryDirectory();
  hooks = await httpReceiver();
  mails = await mailReceiver();
  await start();
  for (const [name, template] of Object.entries(templates)) await create(definitions, stepDefinition(name, template));
});

afterAll(async () => {
  api.close();
  await server.stop();
  await endRunner(directory);
  await Promise.all([hooks.close(), mails.close()]);
  await removeDirectory(directory);
});

async function create(path: string, body: JsonObject): Promise<void> {
  const { status, text } = await api.ask("POST", path, body);
  expect(status, text).toBe(201);
}

async function statusOf(name: string): Promise<RunStatus> {
  const { text, status } = await api.ask("GET", `${namespace}/workflowruns/${name}`);
  expect(status, text).toBe(200);
  return (JSON.parse(text) as { readonly status?: RunStatus }).status ?? {};
}

async function untilEnd(name: string): Promise<RunStatus> {
  const end = systemClock.monotonic() + patienceMs;
  for (;;) {
    const status = await statusOf(name);
    if (["succeeded", "failed", "terminated"].includes(status.status ?? "")) return status;
    if (systemClock.monotonic() > end)
      throw new Error(`${name}, seed ${seed}, does not end: ${JSON.stringify(status)}\n${server.log()}`);
    await sleep(systemClock, 50);
  }
}

/**
 * Times, counts of passes and names of random parts are left out, and the digest of what a run was started with: definitions get
 * their own status at any time.
 */
const outcomeOf = (status: RunStatus): unknown =>
  JSON.parse(JSON.stringify(status), (key, value: unknown) =>
    /time|executions|waits|attempts|failures|^id$|^uid$|^name$.*-context/i.test(key) ||
    key === "contextBackend" ||
    key === "snapshot"
      ? undefined
      : value,
  );

const arrivedOf = (name: string) => ({
  requests: hooks.arrived.filter((line) => line.includes(`/${name}/`)).toSorted(),
  mails: mails.arrived.filter((subject) => subject.startsWith(`${name}/`)).toSorted(),
});

/** Starts runs, disturbs them and looks at what they came to. */
async function live(
  names: readonly string[],
  disturb: () => Promise<void>,
  pause: () => Promise<void> = () => Promise.resolve(),
): Promise<readonly unknown[]> {
  for (const name of names) {
    await create(`${namespace}/workflowruns`, workflowRun(name, steps()));
    await pause();
  }
  await disturb();
  const outcomes: unknown[] = [];
  for (const name of names) {
    const status = await untilEnd(name);
    const { requests, mails: subjects } = effectsOf(name);
    const wanted = { requests: requests.toSorted(), mails: subjects.toSorted() };
    expect(arrivedOf(name), `${name}, seed ${seed}: ${JSON.stringify(status)}\n${server.log()}`).toEqual(wanted);
    outcomes.push(outcomeOf(status));
  }
  return outcomes;
}

test(`17.19 requests and mails of workflows arrive exactly once, though the server is killed ${kills} times`, async () => {
  // The first one finds everything cold, as it is after a kill; with many kills the moments are those of a server that has worked before.
  for (const name of rounds<readonly string[]>([], ["first"])) await live([name], () => Promise.resolve());
  const begun = systemClock.monotonic();
  const [undisturbed] = await live(["undisturbed"], () => Promise.resolve());
  const wholeMs = systemClock.monotonic() - begun;
  expect(undisturbed).toMatchObject({ status: "succeeded" });
  const struck: (readonly number[])[] = [];
  try {
    for (let round = 0; round < kills; round++) {
      const names = Array.from({ length: atOnce }, (_, at) => `round-${round}-${at}`);
      const strike = async () => {
        await sleep(systemClock, (random() * wholeMs) / 2);
        await server.kill();
        api.close();
        struck.push(
          names
            .map((name) => arrivedOf(name))
            .map(({ requests, mails: subjects }) => requests.length + subjects.length),
        );
        await start();
      };
      const outcomes = await live(names, strike, () => sleep(systemClock, (random() * wholeMs) / atOnce));
      for (const outcome of outcomes) expect(outcome, `round ${round}, seed ${seed}`).toEqual(undisturbed);
    }
  } finally {
    process.stderr.write(
      `vela-kill: seed ${seed}, ${Math.round(wholeMs)} ms undisturbed, effects before the kills: ${struck.map((counts) => counts.join()).join(" ")}\n`,
    );
  }
});
