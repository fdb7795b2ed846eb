import { createHash } from "node:crypto";
import {
  defined,
  type Clock,
  err,
  formatInstant,
  type Instant,
  isJsonObject,
  type JsonObject,
  objectAt,
  ok,
  parseInstant,
  type Result,
  textAt,
} from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { type ApiClient, createOrUpdate, getOrUndefined, refTo } from "#kernel/kit/index.ts";
import {
  asJson,
  ConfigMap,
  controllerReference,
  isConflict,
  type KubeObject,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import { type Difference, firstDifference, wantedSpec } from "./compare.ts";

// Section 8: a pre-render step computes an application, and the live object becomes it, or an overlay beside it does.

export const overlayAnnotation = "slipway.dev/pre-render";
const writesAnnotation = "slipway.dev/pre-render-writes";
export const preRenderManager = "slipway-prerender";
const window = 10 * 60 * 1000;
const mostWrites = 5;

export interface WriteBackParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Keeps the digest of an overlay in the application's status. */
  readonly noteOverlay?: (digest: string) => void;
}

export type WriteBack =
  /** The live object, or its overlay, is what the template wants. */
  | { readonly kind: "same" }
  /** Written; the new generation starts another pass. */
  | { readonly kind: "written" }
  /** Somebody else has written meanwhile. */
  | { readonly kind: "conflict" }
  /** The template and somebody else undo each other's changes. */
  | { readonly kind: "unsettled"; readonly message: string };

/** Makes components, policies and post-render steps of the application those that the template wants. */
export async function writeBack(
  type: ResourceType,
  live: Stored,
  wanted: JsonObject,
  parts: WriteBackParts,
): Promise<WriteBack> {
  if (usesOverlay(live)) return writeOverlay(live, wanted, parts);
  const spec = specOf(live);
  const next = wantedSpec(spec, objectAt(wanted, "spec") ?? {});
  const difference = firstDifference(spec, next);
  if (difference === undefined) return { kind: "same" };
  try {
    return await write(type, live, next, difference, parts);
  } catch (thrown) {
    if (isConflict(thrown)) return { kind: "conflict" };
    throw thrown;
  }
}

async function write(
  type: ResourceType,
  live: Stored,
  spec: JsonObject,
  difference: Difference,
  { client, clock, signal }: WriteBackParts,
): Promise<WriteBack> {
  const now = clock.now();
  const recent = recentWrites(live, now);
  const options = { fieldManager: preRenderManager, ...defined({ signal }) };
  const annotated = (times: readonly Instant[]): Stored => ({
    ...live,
    metadata: {
      ...live.metadata,
      annotations: { ...live.metadata.annotations, [writesAnnotation]: times.map(formatInstant).join(",") },
    },
    spec,
  });
  // The server fills in more than names: only it can tell whether anything would change.
  const trial = await client.update(type, annotated(recent), { ...options, dryRun: true });
  if (firstDifference(specOf(live), specOf(trial)) === undefined) return { kind: "same" };
  if (recent.length >= mostWrites) return { kind: "unsettled", message: unsettled(difference) };
  await client.update(type, annotated([...recent, now]), options);
  return { kind: "written" };
}

const unsettled = ({ path, live, wanted }: Difference): string =>
  `pre-render does not settle: ${path} flips between ${live} and ${wanted}`;

function recentWrites(live: KubeObject, now: Instant): readonly Instant[] {
  const texts = (live.metadata.annotations?.[writesAnnotation] ?? "").split(",").slice(-mostWrites);
  return texts.flatMap((text) => parseInstant(text) ?? []).filter((at) => at > now - window && at <= now);
}

const specOf = (object: KubeObject): JsonObject => objectAt(asJson(object), "spec") ?? {};

export const usesOverlay = (application: KubeObject): boolean =>
  application.metadata.annotations?.[overlayAnnotation] === "overlay";

const overlayName = ({ metadata }: Stored): string => `${metadata.name}-prerendered`;

/** Of a specification for one generation. */
const digestOf = (generation: number, spec: string): string =>
  createHash("sha256").update(`${generation}\n${spec}`).digest("hex");

/** Other users may edit the ConfigMap, so only what has its digest in the status counts. */
async function overlayText(
  live: Stored,
  { client, signal }: Pick<WriteBackParts, "client" | "signal">,
): Promise<Result<string | undefined, string>> {
  const digest = textAt(asJson(live), "status", "preRendered");
  if (!usesOverlay(live) || digest === undefined) return ok(undefined);
  const { namespace = "", generation = 0 } = live.metadata;
  const name = overlayName(live);
  const found = await getOrUndefined(client, { type: ConfigMap, namespace, name }, signal);
  // After a crash the newer text is not in the status; its step writes it again.
  const data = found === undefined ? undefined : objectAt(asJson(found), "data");
  const texts = ["spec", "previous"].flatMap((key) => textAt(data, key) ?? []);
  const text = texts.find((one) => digestOf(generation, one) === digest);
  return text === undefined
    ? err(`ConfigMap ${namespace}/${name} was deleted or changed by another client; restart the workflow`)
    : ok(text);
}

/**
 * The specification to render instead of the live one. Undefined if no step has written one; an error says that another
 * client changed it.
 */
export async function readOverlay(
  live: Stored,
  parts: Pick<WriteBackParts, "client" | "signal">,
): Promise<Result<JsonObject | undefined, string>> {
  const text = await overlayText(live, parts);
  return text.ok ? ok(specIn(text.value)) : text;
}

function specIn(text: string | undefined): JsonObject | undefined {
  const spec = text === undefined ? undefined : parseJson(text);
  return spec?.ok === true && isJsonObject(spec.value) ? spec.value : undefined;
}

/** Several pre-render steps add to one overlay. */
async function writeOverlay(live: Stored, wanted: JsonObject, parts: WriteBackParts): Promise<WriteBack> {
  const { client, clock, signal } = parts;
  const before = await overlayText(live, parts);
  if (!before.ok) return { kind: "unsettled", message: before.error };
  const spec = JSON.stringify(wantedSpec(specIn(before.value) ?? specOf(live), objectAt(wanted, "spec") ?? {}));
  const { namespace = "", generation = 0 } = live.metadata;
  const previous = before.value === undefined ? {} : { previous: before.value };
  const map = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: overlayName(live), namespace, ownerReferences: [controllerReference(live)] },
    data: { spec, generation: String(generation), ...previous },
  };
  const options = { clock, fieldManager: preRenderManager, ...defined({ signal }) };
  await createOrUpdate<typeof map>(
    client,
    refTo(ConfigMap, map),
    (present) => (present === undefined ? map : { ...present, data: map.data, metadata: { ...present.metadata } }),
    options,
  );
  parts.noteOverlay?.(digestOf(generation, spec));
  return { kind: "same" };
}
