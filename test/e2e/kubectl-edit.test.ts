import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { kubectlsUnderTest } from "#test/support/kubectl.ts";
import { kubectlPlace } from "#test/support/kubectl-place.ts";

// A run is changed under way as people do it: suspended, opened in an editor, resumed.

describe.each(kubectlsUnderTest)("%s", (path) => {
  const place = kubectlPlace(path);
  const { kubectl } = place;

  const gate = () => join(place.directory, "gate");
  const shell = (script: string) => ({ container: { image: "busybox", command: ["sh", "-c", script] } });
  const workflow = () => ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "edited" },
    spec: {
      steps: {
        first: shell(`while ! test -e ${gate()}; do sleep 0.05; done; echo first as created`),
        second: { ...shell("echo second as created"), dependencies: ["first"] },
      },
    },
  });
  const suspend = (value: boolean) =>
    kubectl.must(["patch", "wf", "edited", "--type", "merge", "-p", JSON.stringify({ spec: { suspend: value } })]);

  /** kubectl opens the file again, with the refusal on top, until it comes back unchanged: `opened` is the file as it was last. */
  async function edit(change: string) {
    const [editor, opened] = [join(place.directory, "editor.sh"), join(place.directory, "opened")];
    await writeFile(editor, `#!/bin/sh\ncp "$1" ${opened}\nsed -i '${change}' "$1"\n`);
    await chmod(editor, 0o755);
    // Of what was refused kubectl leaves a copy among the temporary files.
    const env = { KUBE_EDITOR: editor, EDITOR: editor, TMPDIR: place.directory };
    const ended = await kubectl.run(["edit", "wf", "edited"], { env });
    return { ...ended, opened: await readFile(opened, "utf8") };
  }

  test("a suspended run is edited where it has not started, and refused where it has, with the reason", async () => {
    await kubectl.must(["create", "-f", "-"], { input: JSON.stringify(workflow()) });
    const watch = kubectl.start(["get", "wf", "edited", "-w", "-o", "jsonpath={.status.statuses.first.phase}"]);
    await watch.until((out) => out.includes("Running"));
    await watch.stop();
    await suspend(true);

    const accepted = await edit("s/second as created/second as edited/");
    expect(accepted, accepted.err).toMatchObject({ code: 0, out: expect.stringContaining("edited") });

    const refused = await edit("s/first as created/first as edited/");
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('workflows.slipway.dev "edited" is invalid'),
    });
    expect(refused.opened).toContain('\n# * spec.steps.first: cannot modify running step "first"\n');

    await writeFile(gate(), "");
    await suspend(false);
    await kubectl.must(["wait", "--for=condition=Complete", "wf/edited", "--timeout=30s"]);
    const logs = (step: string) => kubectl.must(["logs", "-l", `slipway.dev/step=${step}`]);
    expect([await logs("first"), await logs("second")]).toEqual(["first as created\n", "second as edited\n"]);
  });
});
