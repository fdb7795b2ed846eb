import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { cases } from "./cases/index.ts";
import { type Api, openApi } from "./suite/api.ts";
import type { Case } from "./suite/case.ts";
import { openPlace } from "./suite/place.ts";
import { runCase } from "./suite/session.ts";
import { rounds } from "#test/support/rounds.ts";

// Every case of the tables with the newest kubectl, and every sixth case with one of the others in turn; with every kubectl in the long form, on a
// cluster under test, and where some are named. CLUSTER_CASES=16 or part of a name runs only those, KUBECTL_MINORS=1.30 only those.

const isEmbedded = inject("isEmbedded");
const kubeconfig = inject("kubeconfig");
const only = process.env["CLUSTER_CASES"];
const chosen = process.env["KUBECTL_MINORS"];
const minors = inject("kubectls").filter(({ minor }) => chosen?.includes(minor) ?? true);
const isEach = rounds(false, true) || !isEmbedded || chosen !== undefined || only !== undefined;
/** Whether a kubectl runs a case: the newest, the last of the list, runs them all. */
const isFor = (at: number, index: number) =>
  isEach || at === minors.length - 1 || index % (6 * (minors.length - 1)) === 6 * at;

let api: Api;
/** `plural` or `plural.group` of all that is served. */
let served: ReadonlySet<string>;

beforeAll(async () => {
  api = await openApi(kubeconfig);
  served = await servedKinds(api);
});
afterAll(() => api.close());

const isWanted = ({ line, name }: Case) => only === undefined || String(line) === only || name.includes(only);
const number = (minor: string) => Number(minor.split(".")[1]);

describe.each(minors.map((one, at) => ({ ...one, at })))("kubectl $minor", ({ minor, path, at }) => {
  test("is here", () => {
    expect(existsSync(path), `kubectl ${minor} is missing; run: node scripts/test-tools.mjs`).toBe(true);
  });

  for (const one of cases.filter((each, index) => isWanted(each) && isFor(at, index))) {
    const { line, name, since = 0, needs = [], embeddedOnly } = one;
    if (number(minor) < since) continue;
    test.concurrent(`${line}. ${name}`, async (context) => {
      if (embeddedOnly !== undefined && !isEmbedded) context.skip(`only on the embedded server: ${embeddedOnly}`);
      expect(
        needs.filter((kind) => !served.has(kind)),
        "kinds that the server does not serve",
      ).toEqual([]);
      const place = await openPlace(api, kubeconfig);
      try {
        await runCase(one, { ...place, kubectlPath: path });
      } finally {
        await place.close();
      }
    });
  }
});

async function servedKinds(server: Api): Promise<ReadonlySet<string>> {
  const lists = [{ group: "", path: "/api/v1" }];
  for (const { name, preferredVersion } of (await server.ask("GET", "/apis")).json[
    "groups"
  ] as never as readonly Group[])
    lists.push({ group: `.${name}`, path: `/apis/${preferredVersion.groupVersion}` });
  const found = await Promise.all(
    lists.map(async ({ group, path }) => {
      const { resources } = (await server.ask("GET", path)).json as never as {
        readonly resources: readonly { name: string }[];
      };
      return resources.map(({ name }) => `${name}${group}`);
    }),
  );
  return new Set(found.flat());
}

interface Group {
  readonly name: string;
  readonly preferredVersion: { readonly groupVersion: string };
}
