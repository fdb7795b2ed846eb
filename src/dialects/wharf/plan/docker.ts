// The options are kaniko's. Other builders read the same options, so that all build the same.

import type { StepOfType } from "../definition/definition.ts";
import { fieldSpot, secretArgOf, tagsOf } from "../definition/step-rules.ts";
import { neededText, type PlanContext, projectSecret, variableText } from "./context.ts";
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

// Image names are registry/group/repository, plus the name of the step if a repository builds several. With
// `destination` none of these is needed.

const dockerGroup = (step: StepOfType<"docker">, context: PlanContext): string | undefined =>
  step.values.group ?? variableText(context, "REPO_GROUP", fieldSpot(step, "group"));

/** Destination without a tag; undefined after reporting missing variables. */
function dockerDestination(step: StepOfType<"docker">, context: PlanContext): string | undefined {
  const { destination, name = step.name } = step.values;
  if (destination !== undefined && destination !== "") return withoutScheme(destination, step, context);
  const registry = step.values.registry ?? neededText(context, "REG_URL", step, "registry");
  const group = step.values.group ?? neededText(context, "REPO_GROUP", step, "group");
  const repository = neededText(context, "REPO_NAME", step, "destination");
  if (registry === undefined || group === undefined || repository === undefined) return undefined;
  const parts = [registry.replace(/\/+$/, ""), group, repository, ...(name === repository ? [] : [name])];
  return withoutScheme(parts.join("/"), step, context);
}

function withoutScheme(destination: string, step: StepOfType<"docker">, { reporter }: PlanContext): string {
  const bare = destination.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\//, "");
  if (bare !== destination)
    reporter.warn(
      fieldSpot(step, "destination"),
      "scheme-stripped",
      `names of images have no scheme; taken as ${bare}`,
    );
  return bare;
}
