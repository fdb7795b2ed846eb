import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { type Kubectl, kubectlPaths, openKubectl } from "#test/support/kubectl.ts";
import {
  endRunner,
  exec,
  removeDirectory,
  root,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { dryRun, httpReceiver, stepDefinition, velaWith, workflowRun } from "#test/support/vela.ts";

// Applications by kubectl and the command line, against the server as people start it. Names begin with the number of
// the acceptance line.

const busy = 120_000;
const example = (name: string) => join(root, "examples/vela", name);

let directory = "";
let server: TestServer;
let kubectl: Kubectl;
const vela = velaWith(() => kubectl);

beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "data"), ["--vela-local-roots", directory]);
  kubectl = await openKubectl(kubectlPaths[0], server.kubeconfig);
}, busy);

afterAll(async () => {
  await server.stop();
  await endRunner(join(directory, "data"));
  await removeDirectory(directory);
}, busy);

const cli = (...words: readonly string[]) => slipway([...words, "--kubeconfig", server.kubeconfig]);
const apply = (text: string) => kubectl.must(["apply", "-f", "-"], { input: text });
const status = async (what: string, path: string) => await kubectl.must(["get", what, "-o", `jsonpath={${path}}`]);
const reaches = (what: string, path: string, value: string) =>
  kubectl.must(["wait", what, `--for=jsonpath={${path}}=${value}`, "--timeout=90s"]);
const phase = (app: string, value: string) => reaches(`app/${app}`, ".status.status", value);
const shown = async (app: string): Promise<string> => (await cli("describe", `app/${app}`)).out;

const worker = (name: string, more = "") =>
  `{name: ${name}, type: worker, properties: {image: busybox, cmd: [sh, -c, 'while true; do sleep 1; done']}${more}}`;
const application = (name: string, components: readonly string[], workflow = "", policies = "") => `
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: ${name}}
spec:
  components: [${components.join(", ")}]
${policies === "" ? "" : `  policies: ${policies}\n`}${workflow === "" ? "" : `  workflow: ${workflow}\n`}`;

test(
  "17.3 17.25 components without a workflow are applied one after another, and kubectl shows columns and events once",
  async () => {
    await apply(
      application("chain", [worker("one"), worker("two", ", dependsOn: [one]"), worker("three", ", dependsOn: [two]")]),
    );
    await phase("chain", "running");
    expect(await status("app/chain", ".status.workflow.mode")).toBe("DAG-DAG");
    const start = async (step: number) =>
      Date.parse(await status("app/chain", `.status.workflow.steps[${step}].firstExecuteTime`));
    const [one, two, three] = [await start(0), await start(1), await start(2)];
    expect(one).toBeLessThan(two);
    expect(two).toBeLessThan(three);
    const table = await kubectl.must(["get", "app", "chain"]);
    expect(table).toMatch(/NAME +COMPONENT +TYPE +PHASE +HEALTHY +STATUS +AGE\nchain +one +worker +running +true/);
    expect(await kubectl.must(["get", "oam"])).toContain("application.core.oam.dev/chain");
    // The last event of all: those of the steps are there before it.
    await expect.poll(() => kubectl.must(["describe", "app", "chain"])).toContain("WorkflowSucceeded");
    const events = await kubectl.must([
      "get",
      "events",
      "-o",
      "jsonpath={range .items[*]}{.reason} {.message}{'\\n'}{end}",
    ]);
    const ended = events.split("\n").filter((line) => line.startsWith("StepSucceeded"));
    expect(ended.filter((line) => /"(?:one|two|three)"/.test(line))).toHaveLength(3);
  },
  busy,
);

test(
  "17.2 the rendered objects are in a ConfigMap that the revision names",
  async () => {
    const file = example("first.yaml");
    await kubectl.must(["apply", "-f", file]);
    await phase("first", "running");
    const revision = await status("app/first", ".status.latestRevision.name");
    expect(revision).toBe("first-v1");
    expect(await status(`apprev/${revision}`, ".spec.resourcesConfigMap.name")).toBe("first-v1");
    expect(await vela.renderedIn(revision)).toMatchObject([{ kind: "Deployment", metadata: { name: "web" } }]);
    const same = await cli("dry-run", "-f", file, "--diff");
    expect([same.code, same.out]).toEqual([0, ""]);
  },
  busy,
);

test(
  "17.7 a suspended workflow is resumed by an edit of its status, and a resumed step does not suspend again",
  async () => {
    await kubectl.must(["apply", "-f", example("approval.yaml")]);
    await phase("approval", "workflowSuspending");
    expect(await kubectl.run(["get", "deploy", "rest"])).toMatchObject({ code: 1 });
    const body = '{"status":{"workflow":{"suspend":false}}}';
    await kubectl.must(["patch", "app", "approval", "--subresource=status", "--type=merge", "-p", body]);
    await phase("approval", "running");
    expect(await shown("approval")).toMatch(/ask +succeeded/);
  },
  busy,
);

test(
  "17.9 a finished workflow restarts by an annotation, by an emptied status and by the command line",
  async () => {
    const started = () => status("app/approval", ".status.workflow.startTime");
    const first = await started();
    await kubectl.must(["annotate", "app", "approval", "app.oam.dev/restart-workflow=true"]);
    await phase("approval", "workflowSuspending");
    const second = await started();
    expect(second).not.toBe(first);
    expect((await cli("approve", "app/approval", "ask")).code).toBe(0);
    await phase("approval", "running");
    const body = '[{"op":"replace","path":"/status/workflow","value":{}}]';
    await kubectl.must(["patch", "app", "approval", "--subresource=status", "--type=json", "-p", body]);
    await phase("approval", "workflowSuspending");
    expect(await started()).not.toBe(second);
    expect((await cli("terminate", "app/approval")).code).toBe(0);
    await phase("approval", "workflowTerminated");
    expect((await cli("restart", "app/approval")).code).toBe(0);
    await phase("approval", "workflowSuspending");
  },
  busy,
);

test(
  "17.8 a workflow that is terminated by an edit ends, after its final steps",
  async () => {
    const body = '{"status":{"workflow":{"terminated":true}}}';
    await kubectl.must(["patch", "app", "approval", "--subresource=status", "--type=merge", "-p", body]);
    await phase("approval", "workflowTerminated");
    expect(await shown("approval")).toMatch(/ask +failed \(Terminate\)/);
    const late = await cli("suspend", "app/approval");
    expect([late.code, late.err]).toEqual([1, expect.stringContaining("workflow is finished")]);
  },
  busy,
);

test(
  "bad input: a status edited to a nonsense is overwritten",
  async () => {
    const body = '{"status":{"workflow":{"stepIndex":99}}}';
    await kubectl.must(["patch", "app", "first", "--subresource=status", "--type=merge", "-p", body]);
    await reaches("app/first", ".status.workflow.stepIndex", "1");
  },
  busy,
);

test(
  "bad input: an unknown type is refused or reported with the nearest one",
  async () => {
    const text = application("typo", [`{name: web, type: webservise, properties: {image: x}}`]);
    const applied = await kubectl.run(["apply", "-f", "-"], { input: text });
    if (applied.code === 0) await reaches("app/typo", ".status.conditions[0].status", "False");
    const said = applied.code === 0 ? await status("app/typo", ".status.conditions[0].message") : applied.err;
    expect(said).toContain('ComponentDefinition "webservise" not found');
    expect(said).toContain("webservice");
  },
  busy,
);

test(
  "17.18 a new spec makes a new revision, and rollback gives the old spec back",
  async () => {
    const image = '[{"op":"replace","path":"/spec/components/0/properties/cmd/2","value":"sleep 1000"}]';
    await kubectl.must(["patch", "app", "first", "--type=json", "-p", image]);
    await reaches("app/first", ".status.latestRevision.name", "first-v2");
    await phase("first", "running");
    const back = await cli("rollback", "app/first");
    expect([back.code, back.out], back.err).toEqual([0, "application/first rolled back to first-v1\n"]);
    await reaches("app/first", ".status.latestRevision.name", "first-v1");
    await phase("first", "running");
    expect(await status("app/first", ".spec.components[0].properties.cmd[2]")).toContain("web is up");
  },
  busy,
);

test(
  "17.15 14.3 the database comes first, and its Secret's name is written into the application",
  async () => {
    await kubectl.must(["apply", "-f", example("database-first-kinds.yaml")]);
    await kubectl.must(["wait", "--for=condition=Established", "crd/mysqlinstances.database.example.org"]);
    await kubectl.must(["create", "secret", "generic", "my-db-conn", "--from-literal=PASSWORD=x"]);
    await kubectl.must(["apply", "-f", example("database-first.yaml")]);
    await reaches("app/database-first", ".status.workflow.steps[0].phase", "running");
    expect((await kubectl.run(["get", "deploy", "my-app"])).code).toBe(1);
    const body = '{"status":{"connSecret":"my-db-conn"}}';
    await kubectl.must(["patch", "mysqlinstance", "my-db", "--subresource=status", "--type=merge", "-p", body]);
    await phase("database-first", "running");
    const from = await status("deploy/my-app", ".spec.template.spec.containers[0].envFrom[0].secretRef.name");
    expect(from).toBe("my-db-conn");
  },
  busy,
);

test(
  "17.15 14.4 rendered objects are pushed to Git, only when something has changed",
  async () => {
    const repository = join(directory, "config.git");
    await exec("git", ["init", "-q", "--bare", repository]);
    const text = (await readFile(example("gitops.yaml"), "utf8")).replaceAll("/tmp/config.git", repository);
    await apply(text);
    await phase("gitops", "running");
    const log = async () => (await exec("git", ["--git-dir", repository, "log", "--format=%s", "main"])).out;
    const first = await log();
    expect(first.trim().split("\n")).toHaveLength(1);
    expect((await cli("restart", "app/gitops")).code).toBe(0);
    await reaches("app/gitops", ".status.workflow.finished", "true");
    await phase("gitops", "running");
    expect(await log()).toBe(first);
    const image = '[{"op":"replace","path":"/spec/components/0/properties/image","value":"other"}]';
    await kubectl.must(["patch", "app", "gitops", "--type=json", "-p", image]);
    await reaches("app/gitops", ".status.latestRevision.name", "gitops-v2");
    await phase("gitops", "running");
    expect((await log()).trim().split("\n")).toHaveLength(2);
    const diff = await exec("git", ["--git-dir", repository, "show", "--format=", "-U0", "main"]);
    expect(diff.out).toContain("image: other");
    expect((await kubectl.run(["get", "deploy", "-l", "app.oam.dev/name=gitops", "-o", "name"])).out).toBe("");
  },
  busy,
);

test(
  "17.10 17.15 the steps of a group start together, and slipway run waits until the application is healthy",
  async () => {
    const run = await cli("run", example("groups.yaml"));
    expect(run.code, run.err).toBe(0);
    expect(run.err).toMatch(/api: Running[^]*groups: running in/);
    expect(await status("app/groups", ".status.workflow.steps[0].subSteps[*].phase")).toBe("succeeded succeeded");
    const graph = await cli("graph", example("groups.yaml"));
    expect(graph.code, graph.err).toBe(0);
    expect(graph.out).toContain("both");
  },
  busy,
);

test(
  "17.24 a WorkflowRun runs without an application, and a step type of one's own waits for its ConfigMap (17.14)",
  async () => {
    const run = await cli("run", example("workflow-run.yaml"));
    expect(run.code, run.err).toBe(0);
    expect(await status("wr/report", ".status.steps[1].message")).toBe("ready");
    expect(await status("cm/report", ".data.state")).toBe("ready");
    expect((await cli("def", "apply", example("definition.cue"))).code).toBe(0);
    await kubectl.must(["apply", "-f", example("own-step.yaml")]);
    await reaches("wr/own-step", ".status.status", "executing");
    await expect.poll(async () => (await cli("why", "wr/own-step")).out).toContain("light");
    await kubectl.must(["create", "configmap", "traffic-light", "--from-literal=state=ready"]);
    await reaches("wr/own-step", ".status.status", "succeeded");
  },
  busy,
);

test(
  "slipway run ends with 1 when the workflow fails and with 2 for a document that is wrong",
  async () => {
    const fails = join(directory, "fails.yaml");
    const steps = `{steps: [{name: never, type: depends-on-app, timeout: 2s, properties: {name: nobody, namespace: default}}]}`;
    await writeFile(fails, application("fails", [worker("idle")], steps));
    const failed = await cli("run", fails);
    expect(failed.code, failed.err).toBe(1);
    const wrong = join(directory, "wrong.yaml");
    await writeFile(wrong, application("wrong", [worker("a"), worker("a")]));
    const refused = await cli("run", wrong);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('component name "a" is already used')]);
  },
  busy,
);

test(
  "deleting an application deletes what it applied",
  async () => {
    await kubectl.must(["delete", "app", "chain", "--timeout=60s"]);
    expect(await kubectl.must(["get", "rt", "-l", "app.oam.dev/name=chain", "-o", "name"])).toBe("");
    const left = async () => await kubectl.must(["get", "deploy", "-l", "app.oam.dev/name=chain", "-o", "name"]);
    await expect.poll(left, { timeout: 30_000 }).toBe("");
    await rm(join(directory, "wrong.yaml"));
  },
  busy,
);

test(
  "steps import a Package, whose service performs its actions; what it lacks is a warning and waited for",
  async () => {
    const tables = await httpReceiver();
    const template =
      'import "ext/db/mysql"\nlist: mysql.#ListTables & {$params: db: parameter.db}\nparameter: db: string';
    const run = workflowRun("tables", [{ name: "list", type: "list-tables", properties: { db: "shop" } }]);
    try {
      const { err } = await kubectl.run(["apply", "-f", "-"], {
        input: JSON.stringify(stepDefinition("list-tables", template)),
      });
      expect(err).toContain("ext/db/mysql");
      await reaches("workflowstep/list-tables", '.status.conditions[?(@.type=="Ready")].status', "False");
      await vela.apply({
        apiVersion: "cue.oam.dev/v1alpha1",
        kind: "Package",
        metadata: { name: "mysql" },
        spec: {
          path: "ext/db/mysql",
          provider: { protocol: "http", endpoint: `http://127.0.0.1:${tables.port}/mysql` },
          templates: {
            "mysql.cue":
              'package mysql\n#ListTables: {#do: "list-tables", #provider: "mysql", $params: db: string, ...}',
          },
        },
      });
      await reaches("workflowstep/list-tables", '.status.conditions[?(@.type=="Ready")].status', "True");
      await vela.apply(run);
      await reaches("wr/tables", ".status.status", "succeeded");
      expect(tables.arrived).toEqual(["POST /mysql/list-tables"]);
      expect(await kubectl.must(["get", "pkg"])).toMatch(
        /NAME +PATH +PROTO +ENDPOINT\nmysql +ext\/db\/mysql +http +http:/,
      );
    } finally {
      await tables.close();
    }
  },
  busy,
);

// Those with steps before rendering are compared where they are rendered, in vela-acceptance.test.ts.
test(
  "17.26 the dry run of every example prints the objects that are rendered",
  async () => {
    const files = (await readdir(join(root, "examples/vela"))).filter((name) => name.endsWith(".yaml"));
    const compared: { readonly name: string; readonly file: string }[] = [];
    for (const file of files) {
      const text = await readFile(example(file), "utf8");
      if (!text.includes("kind: Application\n") || text.includes("stage: pre-render")) continue;
      const name = `dry-${file.replace(".yaml", "")}`;
      compared.push({ name, file: join(directory, file) });
      await writeFile(join(directory, file), text.replace(/^( {2}name: )\S+$/m, `$1${name}`));
    }
    expect(compared.map(({ name }) => name)).toEqual(
      ["approval", "blue-green", "clusters", "conditions", "database-first", "first", "gitops", "groups"].map(
        (one) => `dry-${one}`,
      ),
    );
    await kubectl.must(["apply", "-f", example("database-first-kinds.yaml")]);
    await kubectl.must(["apply", ...compared.flatMap(({ file }) => ["-f", file])]);
    const rendered: JsonObject[] = [];
    for (const { name } of compared) {
      await reaches(`app/${name}`, ".status.latestRevision.name", `${name}-v1`);
      rendered.push(...(await vela.renderedIn(`${name}-v1`)));
    }
    await kubectl.must(["delete", "app", ...compared.map(({ name }) => name), "--timeout=60s"]);
    const dry = await dryRun(example("database-first-kinds.yaml"), ...compared.map(({ file }) => file));
    expect(rendered.length).toBeGreaterThan(compared.length);
    expect(dry.map(canonicalJson).toSorted()).toEqual(rendered.map(canonicalJson).toSorted());
  },
  busy,
);
