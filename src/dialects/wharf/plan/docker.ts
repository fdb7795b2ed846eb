// The options are kaniko's. Other builders read the same options, so that all build the same.

import type { StepOfType } from "../definition/definition.ts";
import { fieldSpot, secretArgOf, tagsOf } from "../definition/step-rules.ts";
import { type PlanContext, projectSecret, variableText } from "./context.ts";
import { dockerDestination, dockerGroup } from "./docker-destination.ts";
import type { EnvEntry, Mount, Overlay, PlannedParts } from "./step-plan.ts";

export function planDocker(step: StepOfType<"docker">, context: PlanContext): PlannedParts | undefined {
  const { file, tag, context: directory = "", push, args = [], secretName, secretArgs = [] } = step.values;
  const destination = dockerDestination(step, context);
  const hasSecret = secretName !== undefined && secretName !== "";
  const secret = hasSecret ? projectSecret(context, secretName, step) : "";
  if (destination === undefined || secret === undefined) return undefined;
  const secrets = secretArgs.flatMap((entry) => secretArgOf(entry) ?? []);
  const isInsecure = variableText(context, "REG_INSECURE", fieldSpot(step, "destination"))?.toLowerCase() === "true";
  return {
    image: context.settings.dockerImage,
    args: [
      "--dockerfile",
      inRepository(file),
      "--context",
      inRepository(directory),
      "--skip-tls-verify",
      ...(isInsecure ? ["--insecure"] : []),
      ...args.flatMap((argument) => ["--build-arg", argument]),
      ...tagsOf(tag).flatMap((one) => ["--destination", `${destination}:${one}`]),
      ...(push ? [] : ["--no-push"]),
      ...secrets.flatMap(({ name }) => ["--build-arg", name]),
    ],
    env: secrets.map(({ name, key }): EnvEntry => ({ name, secretRef: { name: secret, key } })),
    mounts: [...registryLogin(step, context), ...certificateMount(step, context)],
    overlay: appendsCertificate(step, context) ? [appended(file)] : [],
  };
}

/** The project is at the same path in all images. */
const inRepository = (path: string): string => {
  const clean = path.replace(/^(?:\.?\/)+/, "").replace(/^\.$/, "");
  return clean === "" ? "/mnt/repo" : `/mnt/repo/${clean}`;
};

function registryLogin(step: StepOfType<"docker">, context: PlanContext): readonly Mount[] {
  const { secret } = step.values;
  const name = secret ?? variableText(context, "REG_SECRET", fieldSpot(step, "secret")) ?? "gitlab-registry";
  if (name === "") return [];
  const items = { ".dockerconfigjson": "config.json" };
  return [{ kind: "secret", name, items, path: "/kaniko/.docker", readOnly: true }];
}

/** Default as in the original: groups whose names start with `default`. */
function appendsCertificate(step: StepOfType<"docker">, context: PlanContext): boolean {
  const asked = step.values["append-cert"];
  return asked ?? dockerGroup(step, context)?.toLowerCase().startsWith("default") ?? false;
}

const certificateMount = (step: StepOfType<"docker">, context: PlanContext): readonly Mount[] =>
  appendsCertificate(step, context)
    ? [{ kind: "configMap", name: "ca-certificates-config", path: "/mnt/cert", readOnly: true }]
    : [];

/** The build reads the certificate where it is mounted in the builder. */
const appended = (path: string): Overlay => ({
  path,
  change: "append",
  text: "\nRUN cat /mnt/cert/root.crt >> /etc/ssl/certs/ca-certificates.crt\n",
});
