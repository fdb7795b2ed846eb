import { defined, type JsonObject, type JsonValue, textAt } from "#lib/base/index.ts";
import { asJson, type Stored } from "#kernel/model/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import type { AppIdentity, Component } from "../app.ts";
import type { Definitions, DefinitionType } from "../definitions/definition.ts";
import { auxiliaryWorkload, nameOf } from "../labels.ts";
import { builtInHealth } from "./built-in-health.ts";
import { failureText } from "./failure-text.ts";
import type { ComponentHealth, RenderedObject } from "./rendered.ts";

export interface HealthParts {
  readonly identity: AppIdentity;
  readonly cue: Cue;
  readonly definitions: Definitions;
  readonly signal: AbortSignal;
}

/** An object as it should be, and as it is; `live` is absent if it does not exist or `trouble` hid it. */
export interface Observed {
  readonly wanted: Pick<RenderedObject, "role" | "trait" | "resource" | "object" | "stage">;
  readonly live?: Stored;
  /** Why it could not be read. */
  readonly trouble?: string;
}

interface PartHealth {
  readonly isHealthy: boolean;
  readonly message: string;
  readonly details: Readonly<Record<string, string>>;
}

/** Health of a component by the definitions' policies, else by built-in rules. Problems of a text are unhealthy. */
export async function componentHealth(
  parts: HealthParts,
  component: Component,
  observed: readonly Observed[],
): Promise<ComponentHealth> {
  const workload = observed.find(({ wanted }) => wanted.role === "WORKLOAD");
  const own = observed.filter(({ wanted }) => wanted.trait === auxiliaryWorkload);
  const main = await partHealth(parts, "component", component.type, component.properties, {
    ...defined({ workload }),
    others: own,
    isWorkloadPart: true,
    component,
  });
  const traits: ComponentHealth["traits"][number][] = [];
  for (const { type, properties } of distinctTraits(component)) {
    const others = observed.filter(({ wanted }) => wanted.trait === type);
    const subject = { ...defined({ workload }), others, isWorkloadPart: false, component };
    const health = await partHealth(parts, "trait", type, properties, subject);
    const isPending = !main.isHealthy && others.some(({ wanted, live }) => wanted.stage === "PostDispatch" && !live);
    traits.push({
      type,
      healthy: health.isHealthy,
      ...(isPending ? { pending: true } : {}),
      ...(health.message === "" ? {} : { message: health.message }),
      ...(Object.keys(health.details).length === 0 ? {} : { details: health.details }),
    });
  }
  return {
    isHealthy: main.isHealthy && traits.every(({ healthy }) => healthy),
    isWorkloadHealthy: main.isHealthy,
    message: main.message,
    details: main.details,
    traits,
  };
}

/** The first of each type: a status speaks of types. */
const distinctTraits = ({ traits }: Component): Component["traits"] =>
  traits.filter(({ type }, index) => traits.findIndex((other) => other.type === type) === index);

interface Subject {
  readonly workload?: Observed;
  readonly others: readonly Observed[];
  readonly isWorkloadPart: boolean;
  readonly component: Component;
}

async function partHealth(
  parts: HealthParts,
  type: DefinitionType,
  name: string,
  parameter: JsonObject,
  subject: Subject,
): Promise<PartHealth> {
  const { identity, definitions, cue, signal } = parts;
  const needed = [...(subject.isWorkloadPart && subject.workload ? [subject.workload] : []), ...subject.others];
  if (subject.isWorkloadPart && subject.workload === undefined) return unhealthy("the workload was not applied");
  const missing = needed.find(({ live }) => live === undefined);
  if (missing !== undefined) return unhealthy(missing.trouble ?? `${nameOf(missing.wanted.object)} not found`);
  const definition = await definitions.find(type, name, identity.namespace);
  const status = textsIn(definition?.spec["status"]);
  const context = healthContext(identity, subject);
  const answer = await cue.health({ ...status, parameter, context }, signal);
  if (!answer.ok) return unhealthy(failureText(answer.error));
  const { isHealthy, message = "", details } = answer.value;
  if (isHealthy !== undefined) return { isHealthy, message, details };
  const faults = needed.flatMap(({ live }) => (live === undefined ? [] : [builtInHealth(live)]));
  const fault = faults.find((one) => !one.isHealthy);
  return { isHealthy: fault === undefined, message: message === "" ? (fault?.message ?? "") : message, details };
}

const unhealthy = (message: string): PartHealth => ({ isHealthy: false, message, details: {} });

function healthContext(
  { name, namespace, revision }: AppIdentity,
  { workload, others, component }: Subject,
): JsonObject {
  const live = others.flatMap(({ wanted, live: object }) =>
    object === undefined || wanted.resource === undefined ? [] : [[wanted.resource, asJson(object)] as const],
  );
  return {
    name: component.name,
    namespace,
    appName: name,
    appRevision: revision,
    ...(workload?.live === undefined ? {} : { output: asJson(workload.live) }),
    outputs: Object.fromEntries(live),
  };
}

/** The three texts of a definition's `status`. */
const textsIn = (status: JsonValue | undefined) =>
  defined({
    details: textAt(status, "details"),
    healthPolicy: textAt(status, "healthPolicy"),
    customStatus: textAt(status, "customStatus"),
  });
