import { expect, test } from "vitest";
import { isAlreadyExists, isConflict } from "#kernel/model/index.ts";
import type { PassParts } from "./parts.ts";
import { createRig, step } from "./testing/rig.ts";
import { memoryCourier } from "#kernel/couriers/testing/index.ts";

// 17.19 in one process: a "process" dies at one of the places where it waits, before or after what it waits for was
// done, and the next one goes on with what is stored. Couriers survive.

interface Life {
  readonly died: Promise<void>;
  /** Resolves unless the process is dead. */
  point(): Promise<void>;
  count: number;
}

function live(deathAt: number): Life {
  let die: () => void = () => undefined;
  const died = new Promise<void>((resolve) => (die = resolve));
  const life: Life = {
    died,
    count: 0,
    point() {
      life.count += 1;
      if (life.count < deathAt) return Promise.resolve();
      die();
      return new Promise<void>(() => undefined);
    },
  };
  return life;
}

function mortal<T extends object>(object: T, life: () => Life): T {
  return new Proxy(object, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        const own = life();
        await own.point();
        const answer: unknown = await Reflect.apply(value, target, args);
        await own.point();
        return answer;
      };
    },
  });
}

const post = { actions: [{ path: "post", use: "op/do", value: { method: "POST", url: "http://hooks.test/<n>" } }] };
const templates = {
  post,
  mail: {
    actions: [
      {
        path: "mail",
        use: "op/send",
        value: { from: { address: "a@b.test", host: "mail.test", port: 25 }, to: ["c@d.test"], content: {} },
      },
    ],
  },
  apply: {
    actions: [
      {
        path: "apply",
        use: "op/apply",
        value: { value: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "<context.stepName>" } } },
      },
      { path: "note", use: "builtin/var", value: { $params: { method: "Put", path: "kept", value: "yes" } } },
    ],
  },
  // Both effects must not be repeated when a later action suspends or fails.
  postThenSuspend: {
    actions: [
      { path: "post", use: "op/do", value: { method: "POST", url: "http://hooks.test/suspend" } },
      { path: "hold", use: "op/suspend", value: { duration: "5s" } },
      { path: "second", use: "op/do", value: { method: "PUT", url: "http://hooks.test/after" } },
    ],
  },
  postThenFail: {
    actions: [
      { path: "post", use: "op/do", value: { method: "POST", url: "http://hooks.test/failing" } },
      { path: "fails", use: "test/twice" },
    ],
  },
  waits: { actions: [{ path: "wait", use: "test/thrice" }] },
};

const steps = [
  step("one", "post"),
  step("two", "apply", { outputs: [{ name: "name", valueFrom: "context.stepName" }] }),
  step("three", "mail", { inputs: [{ from: "name", parameterKey: "name" }] }),
  step("four", "postThenSuspend"),
  step("group", "step-group", {
    subSteps: [step("five", "post"), step("six", "mail"), step("seven", "post", { dependsOn: ["five"] })],
  }),
  step("eight", "postThenFail"),
  step("nine", "waits"),
  step("ten", "post", { if: "status.nine.succeeded" }),
  step("eleven", "apply", { if: "status.nine.failed" }),
  step("twelve", "post", { if: "always" }),
];

/** One run to its end; the process dies at the given counts of points. */
async function play(deaths: readonly number[]) {
  let life = live(deaths[0] ?? Number.POSITIVE_INFINITY);
  const courier = memoryCourier();
  const around = (parts: PassParts): PassParts => ({
    ...parts,
    client: mortal(parts.client, () => life),
    actingClient: mortal(parts.actingClient, () => life),
    delivery: mortal(parts.delivery, () => life),
    courier: mortal(parts.courier, () => life),
    cue: mortal(parts.cue, () => life),
  });
  // What the world answers depends on what is stored only, so that every run has the same answers.
  const rig = await createRig({
    steps,
    templates,
    courier,
    around,
    more: {
      "test/twice": async (_value, { execution }) =>
        execution < 2 ? { kind: "error", message: "broken" } : { kind: "continue" },
      "test/thrice": async (_value, { execution }) =>
        execution < 3 ? { kind: "wait", message: "soon" } : { kind: "continue" },
    },
  });
  let points = 0;
  let next = 1;
  for (let round = 0; round < 500; round++) {
    const current = life;
    const pass = rig.pass({
      store: async (status) => {
        await current.point();
        rig.state.status = structuredClone(status);
        await current.point();
      },
    });
    const result = await Promise.race([pass, current.died]).catch((thrown: unknown) => {
      // A write of the dead process came late.
      if (isConflict(thrown) || isAlreadyExists(thrown)) return "again" as const;
      throw thrown;
    });
    if (result === "again") continue;
    if (result === undefined) {
      points += life.count;
      life = live(deaths[next++] ?? Number.POSITIVE_INFINITY);
      continue;
    }
    if (result.isDone) return { rig, sent: courier.sent, points: points + life.count };
    rig.clock.jump(rig.clock.now() + (result.requeueAfter ?? 1_000));
  }
  throw new Error("the run does not end");
}

const requestText = (request: { readonly kind: string; readonly method?: string; readonly url?: string }): string =>
  `${request.kind} ${request.method ?? ""} ${request.url ?? ""}`;

type Played = Awaited<ReturnType<typeof play>>;

/** Everything but times and counts of attempts. */
const summary = ({ rig, sent }: Played) => ({
  phases: rig.phases(),
  status: rig.state.status?.status,
  sent: sent.map(requestText).sort(),
});

test("17.19 every effect happens exactly once, wherever the process dies", { timeout: 60_000 }, async () => {
  const calm = await play([]);
  const wanted = summary(calm);
  expect(wanted.status).toBe("succeeded");
  expect(wanted.sent).toHaveLength(10);
  expect(wanted.phases).toMatchObject({ ten: "succeeded", eleven: "skipped/Skip", twelve: "succeeded" });
  // Every third place: a run has hundreds.
  for (let at = 1 + (calm.points % 3); at <= calm.points; at += 3)
    expect(summary(await play([at])), `death at ${at}`).toEqual(wanted);
});

test("17.19 every effect happens exactly once when the process dies again and again", { timeout: 60_000 }, async () => {
  const wanted = summary(await play([]));
  for (let seed = 1; seed <= 30; seed++) {
    const deaths = Array.from({ length: 12 }, (_, index) => 1 + ((seed * 7919 + index * index * 104_729) % 61));
    expect(summary(await play(deaths)), `deaths ${deaths.join(" ")}`).toEqual(wanted);
  }
});
