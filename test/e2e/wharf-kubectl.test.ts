import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { kubectlPaths } from "#test/support/kubectl.ts";
import { kubectlPlace } from "#test/support/kubectl-place.ts";
import { removeDirectory, slipway } from "#test/support/slipway.ts";
import { messagesOf, resultsOf, wharfProject } from "#test/support/wharf.ts";

// Steps that work on a cluster, with the program that they are named after, on the embedded server.

describe.each(kubectlPaths.slice(-1))("%s", (path) => {
  const { kubectl } = kubectlPlace(path);

  test("a kubectl step applies its manifest with variables, to the cluster that the settings name; what it refuses fails the step", async () => {
    const server = await kubectl.must(["config", "view", "--raw", "--flatten"]);
    const project = await wharfProject(
      `inputs: [{name: greeting, type: string, default: hello}]
deploy:
  map:
    kubectl: {file: map.yml, cluster: here, namespace: default}
broken:
  kind:
    kubectl: {file: odd.yml, cluster: here}
`,
      {
        "map.yml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeted}\ndata: {words: "${greeting}"}\n',
        "odd.yml": "apiVersion: example.com/v1\nkind: Odd\nmetadata: {name: x}\n",
      },
    );
    const kubeconfig = join(project.home, "cluster.yml");
    await writeFile(kubeconfig, server, { mode: 0o600 });
    await writeFile(
      join(project.directory, ".wharf-cmd-config.yml"),
      `worker: {host: {clusters: {here: ${JSON.stringify(kubeconfig)}}}}\n`,
    );
    const env = { ...project.env, PATH: `${dirname(path)}:${process.env["PATH"]}` };
    const { code, out } = await slipway(["run", "--runtime", "host", "--build-id", "1", "-i", "greeting=good day"], {
      cwd: project.directory,
      env,
    });
    expect([code, await messagesOf(resultsOf(project, 1), 1)]).toEqual([1, ["configmap/greeted created"]]);
    expect(out).toContain('no matches for kind "Odd"');
    expect(await kubectl.must(["get", "cm", "greeted", "-o", "jsonpath={.data.words}"])).toBe("good day");
    await removeDirectory(project.home);
  });
});
