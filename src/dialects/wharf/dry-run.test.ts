import { expect, test } from "vitest";
import { planData, planText } from "./commands/dry-run.ts";
import { fileVariables, prepared } from "./testing/prepared.ts";

const definition = `
inputs: [{name: password, type: password, default: "\${%pa%} ss/word"}]
build:
  web:
    container:
      image: alpine
      cmds: ["echo 'hi'", "login \${password}"]
      secretName: tokens
      certificatesMountPath: /certs
      artifacts: ["out/**"]
      testResults: ["*.trx"]
      timeout: 90s
  image: {docker: {file: Dockerfile, tag: t, destination: r/i, secretName: s, secretArgs: ["A=key"], push: false}}
clean:
  runs-if: always
  k8s: {kubectl: {file: d.yml}}
`;
const { plan = { stages: [] }, variables } = prepared(definition, {
  buildId: 7,
  projectId: 3,
  surroundings: fileVariables({ REG_URL: "r", REPO_GROUP: "g", REPO_NAME: "n" }),
});

test("a plan for people says what would run, without what nobody may see", () => {
  expect(planText(plan, variables)).toBe(
    [
      "stage 1 build",
      "  step 1 web: container",
      "    image        alpine",
      "    command      /bin/sh -c 'echo '\\''hi'\\''",
      "                 login ***'",
      "    variables    CI=true",
      "                 WHARF_ARTIFACTS_DIR=/mnt/artifacts",
      "                 WHARF_BUILD_ID=7",
      "                 WHARF_STAGE=build",
      "                 WHARF_STEP=web",
      "                 all keys of secret wharf-local-project-3-secretname-tokens",
      "    mounts       config map ca-certificates-config at /certs",
      "    artifacts    out/**",
      "    test results *.trx",
      "    account      default",
      "    timeout      90s",
      "  step 2 image: docker",
      "    image        gcr.io/kaniko-project/executor:v1.7.0",
      "    command      (entry of the image) --dockerfile /mnt/repo/Dockerfile --context /mnt/repo --skip-tls-verify --destination r/i:t --no-push --build-arg A",
      "    variables    A=*** (key key of secret wharf-local-project-3-secretname-s)",
      "                 CI=true",
      "                 WHARF_ARTIFACTS_DIR=/mnt/artifacts",
      "                 WHARF_BUILD_ID=7",
      "                 WHARF_STAGE=build",
      "                 WHARF_STEP=image",
      "    mounts       secret gitlab-registry at /kaniko/.docker (.dockerconfigjson as config.json)",
      "",
      "stage 2 clean (runs if: always)",
      "  step 3 k8s: kubectl",
      "    image        docker.io/wharfse/kubectl:v1.23.5",
      "    command      kubectl apply --filename d.yml",
      "    variables    CI=true",
      "                 WHARF_ARTIFACTS_DIR=/mnt/artifacts",
      "                 WHARF_BUILD_ID=7",
      "                 WHARF_STAGE=clean",
      "                 WHARF_STEP=k8s",
      "    mounts       config map kubectl-config at /root/.kube",
      "    files        d.yml (with its variables)",
      "",
    ].join("\n"),
  );
});

test("a plan for programs is the plan, with stars in it", () => {
  const data = planData(plan, variables);
  expect(data).toMatchObject({
    stages: [{ name: "build", steps: [{ step: "web" }, { step: "image" }] }, { name: "clean" }],
  });
  expect(JSON.stringify(data)).toContain("login ***");
  expect(JSON.stringify(data)).not.toContain("ss/word");
});
