import { textAt } from "#lib/base/index.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cue, createCue, type TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import type { Step } from "../app.ts";
import { withPackages } from "../definitions/packages.ts";
import { library } from "../library.ts";
import type { EffectAnswer } from "#kernel/couriers/index.ts";
import { createRig, step } from "./testing/rig.ts";
import { memoryCourier } from "#kernel/couriers/testing/index.ts";

// Shipped definitions and the proposal's own, with the real evaluator.

let host: TemplateHost;
let cue: Cue;

beforeAll(async () => {
  host = await realHost();
  cue = createCue({ templates: host, packages: library.packages, budgetMs: 20_000 });
}, 60_000);

afterAll(() => host.close());

const seedApply = `import "vela/op"
parameters: {image: string}
apply: op.#Apply & {
	resource: context.workload
}
wait: op.#ConditionalWait & {
	continue: apply.status.ready == true
}
export: op.#Export & {
	secret: apply.status.secret
}
`;

const own: Readonly<Record<string, string>> = {
  seed: seedApply,
  take: `import "vela/op"
parameter: {secret: string}
say: op.#Message & {message: "got " + parameter.secret}
`,
  make: `import "vela/op"
say: op.#Message & {message: "made"}
output: {host: "db.test", port: 5432, password: "hunter22"}
`,
  hidden: `import "vela/op"
$sensitivePaths: ["output.password"]
say: op.#Message & {message: "made"}
output: {password: "hunter22"}
`,
  tables: `import "ext/db/mysql"
parameter: {db: string}
list: mysql.#ListTables & {$params: db: parameter.db}
`,
  conflict: `a: 1
a: 2
`,
  patches: `import ("vela/kube", "vela/util")
parameter: image: string
#containers: [{name: "side", image: "s"}, {name: "web", image: "w", args: ["a"]}]
first: kube.#Apply & {
	$params: {
		value: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "patched", data: containers: #containers}
		patch: {
			// +patchKey=name
			data: containers: [{
				name: "web"
				// +patchStrategy=retainKeys
				image: parameter.image
			}]
		}
	}
}
live: kube.#Patch & {
	$params: {
		value: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "patched", namespace: "default"}}
		patch: {
			// +patchKey=name
			data: containers: [{name: "web", ports: [80]}, {name: "new"}]
		}
	}
}
merged: util.#PatchK8sObject & {
	$params: {
		value: items: [{name: "a"}, {name: "b", n: 1}]
		patch: {
			// +patchKey=name
			items: [{name: "b", m: 2}]
		}
	}
}
refused: util.#PatchK8sObject & {$params: {value: n: 1, patch: n: 2}}
`,
};

const mysql = {
  apiVersion: "cue.oam.dev/v1alpha1",
  kind: "Package",
  metadata: { name: "mysql", namespace: "default", uid: "", resourceVersion: "", creationTimestamp: "" },
  spec: {
    path: "ext/db/mysql",
    provider: { protocol: "http" as const, endpoint: "http://tables.test/mysql/" },
    templates: {
      "types.cue": "package mysql\n#Table: name: string\n",
      "actions.cue":
        'package mysql\n#ListTables: {\n#do: "list-tables"\n#provider: "mysql"\n$params: db: string\n$returns?: tables: [...#Table]\n...\n}\n',
    },
  },
};

async function rigOf(steps: readonly Step[], answer?: EffectAnswer) {
  const shipped = await library.definitions();
  const courier = answer === undefined ? memoryCourier() : memoryCourier(() => answer);
  const rig = await createRig({
    steps,
    courier,
    components: [
      {
        name: "web",
        type: "webservice",
        properties: { ready: "no" },
        traits: [],
        dependsOn: [],
        inputs: [],
        outputs: [],
      },
    ],
    around: (parts) => ({
      ...parts,
      cue,
      definitions: {
        names: async () => Object.keys(own),
        find: async (type, name) => {
          const text = own[name];
          if (text !== undefined)
            return withPackages({ type, name, template: text, spec: {}, annotations: {} }, [mysql]);
          return shipped.find((each) => each.type === type && each.name === name);
        },
      },
    }),
  });
  return { rig, courier };
}

const statusCode = (code: number): EffectAnswer => ({
  ok: true,
  value: { statusCode: code, body: "{}", header: {}, trailer: {} },
});

test.each([
  [200, "handle-200"],
  [400, "handle-400"],
  [500, "handle-500"],
])("14.6 of the proposal's handlers exactly one runs: %i", { timeout: 60_000 }, async (code, handler) => {
  const message = (name: string) => step(name, "print-message-in-status", { properties: { message: name } });
  const { rig, courier } = await rigOf(
    [
      step("request", "webhook", { properties: { url: { value: "http://hook.test" }, data: { a: 1 } } }),
      { ...message("handle-200"), if: "request.output.responseCode == 200" },
      { ...message("handle-400"), if: "request.output.responseCode == 400" },
      { ...message("handle-500"), if: "request.output.responseCode == 500" },
    ],
    statusCode(code),
  );
  await rig.pass();
  const succeeded = Object.entries(rig.phases()).filter(([, phase]) => phase === "succeeded");
  expect(succeeded.map(([name]) => name)).toEqual(["request", handler]);
  expect(rig.state.status?.status).toBe("succeeded");
  expect(courier.sent).toHaveLength(1);
});

test("17.14 and 17.6 the proposal's apply waits for an empty status, then exports its secret", {
  timeout: 60_000,
}, async () => {
  const { rig } = await rigOf([
    step("a", "seed", { properties: { image: "x" } }),
    step("b", "take", { inputs: [{ from: "secret", parameterKey: "secret" }] }),
  ]);
  await rig.pass();
  expect(rig.phases()).toEqual({ a: "running/Wait" });
  const type = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
  const ref = { type, namespace: "default", name: "web" };
  await rig.client.patch(
    ref,
    { type: "merge", body: { status: { ready: true, secret: "s1" } } },
    { subresource: "status" },
  );
  await rig.pass({ isWoken: true });
  expect(rig.phases()).toEqual({ a: "succeeded", b: "succeeded" });
  expect(rig.step("b").message).toBe("got s1");
});

test("a conflict is an error that is retried, an unmet condition skips", { timeout: 60_000 }, async () => {
  const { rig } = await rigOf([
    step("bad", "conflict"),
    step("told", "print-message-in-status", { if: "status.bad.failed", properties: { message: "sorry" } }),
    step("alias", "print-message-in-status", {
      if: 'steps["bad"].failedAfterRetries && context.name == "app"',
      properties: { message: "x" },
    }),
  ]);
  await rig.pass();
  expect(rig.step("bad")).toMatchObject({ phase: "failed", reason: "Execute" });
  expect(rig.step("bad").message).toContain("conflicting values");
  await rig.run();
  expect(rig.phases()).toEqual({ bad: "failed/FailedAfterRetries", told: "succeeded", alias: "succeeded" });
  expect(rig.state.status?.status).toBe("failed");
});

test("inputs come from context, and native steps give outputs", { timeout: 60_000 }, async () => {
  const { rig } = await rigOf([
    step("web", "apply-component", {
      properties: { component: "web" },
      outputs: [{ name: "ready", valueFrom: "output.data.ready" }],
    }),
    step("b", "print-message-in-status", { inputs: [{ from: "ready", parameterKey: "message" }] }),
    step("c", "print-message-in-status", { inputs: [{ from: "context.appName", parameterKey: "message" }] }),
  ]);
  await rig.pass();
  expect(rig.phases()).toEqual({ web: "succeeded", b: "succeeded", c: "succeeded" });
  expect([rig.step("b").message, rig.step("c").message]).toEqual(["no", "app"]);
});

test("9.4 outputs of a group see the variables of its steps", { timeout: 60_000 }, async () => {
  const host = step("host", "make", { outputs: [{ name: "host", valueFrom: "output.host" }] });
  const port = step("port", "make", { outputs: [{ name: "port", valueFrom: "output.port" }] });
  const { rig } = await rigOf([
    step("group", "step-group", {
      subSteps: [host, port],
      outputs: [{ name: "address", valueFrom: '"\\(host):\\(port)"' }],
    }),
    step("b", "print-message-in-status", { inputs: [{ from: "address", parameterKey: "message" }] }),
  ]);
  await rig.pass();
  expect(rig.step("b").message).toBe("db.test:5432");
});

test("9.6 what a template calls sensitive is in the Secret only", { timeout: 60_000 }, async () => {
  const outputs = [{ name: "password", valueFrom: "output.password" }];
  const { rig } = await rigOf([step("a", "hidden", { outputs }), step("b", "make", { outputs: [] })]);
  await rig.pass();
  expect(rig.phases()).toEqual({ a: "succeeded", b: "succeeded" });
  const { map, secret } = await rig.store();
  expect(JSON.stringify(map)).not.toContain("hunter22");
  expect(Buffer.from(textAt(secret, "vars") ?? "", "base64").toString()).toContain("hunter22");
});

test("patches of objects merge lists by the keys that comments name", { timeout: 60_000 }, async () => {
  const properties = { image: "new" };
  const outputs = [
    { name: "live", valueFrom: "live.$returns.result.data" },
    { name: "merged", valueFrom: "merged.$returns.result" },
    { name: "refused", valueFrom: "refused.$returns.err" },
  ];
  const { rig } = await rigOf([step("a", "patches", { properties, outputs })]);
  await rig.pass();
  expect([rig.phases(), rig.step("a").message]).toEqual([{ a: "succeeded" }, undefined]);
  const { vars } = (await rig.store()).map;
  expect(JSON.parse(typeof vars === "string" ? vars : "")).toMatchObject({
    live: {
      containers: [
        { name: "side", image: "s" },
        { name: "web", image: "new", args: ["a"], ports: [80] },
        { name: "new" },
      ],
    },
    merged: { items: [{ name: "a" }, { name: "b", n: 1, m: 2 }] },
    refused: expect.stringContaining("conflicting values"),
  });
});

test("an action of a Package is one POST to its service, whose answer is $returns", { timeout: 60_000 }, async () => {
  const properties = { db: "shop" };
  const outputs = [{ name: "first", valueFrom: "list.$returns.tables[0].name" }];
  const value = { statusCode: 200, body: '{"tables":[{"name":"orders"}]}', header: {}, trailer: {} };
  const { rig, courier } = await rigOf(
    [
      step("a", "tables", { properties, outputs }),
      step("b", "print-message-in-status", { inputs: [{ from: "first", parameterKey: "message" }] }),
    ],
    { ok: true, value },
  );
  await rig.pass();
  expect([rig.phases(), rig.step("b").message]).toEqual([{ a: "succeeded", b: "succeeded" }, "orders"]);
  expect(courier.sent).toMatchObject([
    { method: "POST", url: "http://tables.test/mysql/list-tables", body: '{"db":"shop"}' },
  ]);
});

test("a service of a Package that refuses is asked again", { timeout: 60_000 }, async () => {
  const value = { statusCode: 500, body: "no such database", header: {}, trailer: {} };
  const { rig, courier } = await rigOf([step("a", "tables", { properties: { db: "shop" } })], { ok: true, value });
  await rig.pass();
  expect(rig.step("a").message).toBe('step a: list: Package "mysql": list-tables: status 500, no such database');
  await rig.run(2);
  expect(courier.sent.length).toBeGreaterThan(1);
});
