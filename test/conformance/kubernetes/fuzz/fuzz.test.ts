import { seededRandom } from "#kernel/kit/testing/index.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Logger, silentLog, systemClock } from "#lib/base/index.ts";
import { compileJsonPath, compileJsonPathTemplate } from "#lib/json/index.ts";
import { type Answered, startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";
import { mutator } from "./mutate.ts";
import { type Attempt, gizmoDefinition, targets } from "./targets.ts";
import { rounds } from "#test/support/rounds.ts";

// 50. Damaged bytes to everything that reads bytes: each is answered, with what Kubernetes calls a success or a refusal, and never with a
// failure of the server. SLIPWAY_FUZZ_REQUESTS (20) is how many times eight for each target, SLIPWAY_FUZZ_SECONDS for how long instead,
// SLIPWAY_FUZZ_SEED (1) where the random numbers begin.

const requests = Number(process.env["SLIPWAY_FUZZ_REQUESTS"] ?? 20);
const seconds = Number(process.env["SLIPWAY_FUZZ_SECONDS"] ?? rounds(0, 20));
const seed = Number(process.env["SLIPWAY_FUZZ_SEED"] ?? 1);
const timeout = 120_000 + seconds * 1000;
/** Sent at once: what one request does to others shows. */
const width = 8;

let api: TestServer;
const failures: unknown[] = [];
beforeAll(async () => {
  const log: Logger = {
    ...silentLog,
    error: (message, fields) => void failures.push({ message, fields }),
    with: () => log,
  };
  // Nobody waits for revisions of the future.
  api = await startTestServer({ log, limits: { futureRevisionWaitMs: 0 } });
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  expect((await api.ask("POST", definitions, { body: gizmoDefinition })).status).toBe(201);
});
afterAll(() => api.close());

/** Calls until there were enough, or long enough. */
async function repeat(work: () => Promise<void> | void): Promise<number> {
  const deadline = systemClock.monotonic() + seconds * 1000;
  let count = 0;
  while (seconds > 0 ? systemClock.monotonic() < deadline : count < requests) {
    await work();
    count += 1;
  }
  return count;
}

const send = ({ method, path, type, body }: Attempt): Promise<Answered> =>
  api.ask(method, path, {
    ...(body === undefined ? {} : { bytes: body }),
    ...(type === undefined ? {} : { headers: { "Content-Type": type } }),
  });

/** Refusals are whole; of the codes of servers only those of what is not served and of waiting may come. */
function judge(attempt: Attempt, { status, json, text }: Answered): void {
  const isRight = status < 500 || status === 501 || status === 504;
  const isWhole = status < 400 || (json["kind"] as unknown) === "Status";
  if (isRight && isWhole) return;
  const sent = attempt.body?.toString("base64") ?? "";
  throw new Error(
    `${attempt.method} ${attempt.path} ${attempt.type ?? ""} ${sent} was answered with ${status}: ${text}`,
  );
}

describe.each(targets)("$name", ({ inputs, attempt }) => {
  test("damaged, are answered", { timeout }, async () => {
    const mutations = mutator(seededRandom(seed));
    const codes = new Map<number, number>();
    const one = async () => {
      const made = attempt(mutations.next(inputs));
      const answer = await send(made);
      judge(made, answer);
      codes.set(answer.status, (codes.get(answer.status) ?? 0) + 1);
    };
    const count = await repeat(() => Promise.all(Array.from({ length: width }, one)).then(() => undefined));
    if (seconds > 0) process.stderr.write(`${count * width} requests: ${JSON.stringify(Object.fromEntries(codes))}\n`);
    expect(failures).toEqual([]);
    expect((await api.ask("GET", "/readyz")).text).toBe("ok");
  });
});

test("damaged JSONPath is compiled or refused, and what is compiled ends", { timeout }, async () => {
  const inputs = [
    "$.a[0].b",
    "{.items[?(@.a=='x')].b}",
    "..c[1:3:-1]",
    "{range .items[*]}{.a}{'\\t'}{end}",
    ".a['b'].*",
  ];
  const mutations = mutator(seededRandom(seed));
  const document = { a: [{ b: { c: [1, 2, 3] } }], items: [{ a: "x", b: 1 }, { a: "y" }], c: null };
  let compiled = 0;
  await repeat(() => {
    for (let left = width; left > 0; left--) {
      const source = mutations.next(inputs.map((text) => Buffer.from(text))).toString();
      const path = compileJsonPath(source);
      if (path.ok) path.value.find(document);
      const template = compileJsonPathTemplate(source);
      if (template.ok) template.value.render(document);
      compiled += (path.ok ? 1 : 0) + (template.ok ? 1 : 0);
      for (const outcome of [path, template])
        if (!outcome.ok && outcome.error.message === "")
          throw new Error(`${JSON.stringify(source)} is refused without a reason`);
    }
  });
  expect(compiled).toBeGreaterThan(0);
});
