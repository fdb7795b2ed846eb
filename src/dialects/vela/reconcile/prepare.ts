import { defined, err, isJsonObject, type JsonObject, messageOf, ok, type Result } from "#lib/base/index.ts";
import {
  actsForAnnotation,
  asJson,
  distinctWriters,
  isNotFound,
  type Stored,
  type Writer,
  writersOf,
} from "#kernel/model/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { type App, type Step, withSubSteps } from "../app.ts";
import { checkApplication } from "../checks/application.ts";
import { checkExpressions } from "../checks/definitions.ts";
import type { Definitions, DefinitionType } from "../definitions/definition.ts";
import { notFoundMessage } from "../definitions/find.ts";
import { readingClient } from "../delivery/rights.ts";
import { builtInTypes } from "../definitions/types.ts";
import { type Application, Policy, Workflow } from "../kinds.ts";
import { textsOf } from "../labels.ts";
import { type AppReferences, parseApp, type RevisionOf } from "../parse.ts";
import { readOverlay } from "../prerender/write-back.ts";
import { decideRevision, type RevisionChoice } from "../revision/decide.ts";
import { snapshotDefinitions, snapshotOf, snapshotWriters } from "../revision/snapshot.ts";
import { listRevisions } from "../revision/store.ts";
import type { Pass } from "./parts.ts";

/** An application, read for the revision that it is at. */
export interface Prepared {
  readonly choice: RevisionChoice;
  readonly revisions: readonly Stored[];
  readonly app: App;
  /** As the revision has them. */
  readonly definitions: Definitions;
  /** Everybody who wrote a part of it, besides those of the application itself. */
  readonly writers: readonly Writer[];
}

/** Reads what the application refers to, decides its revision and checks it. The error is for people. */
export async function prepare(pass: Pass): Promise<Result<Prepared, string>> {
  const { client, clock, signal, store, definitions: live } = pass;
  const effective = await withOverlay(pass, store.application);
  if (!effective.ok) return effective;
  const application = effective.value;
  const acting = readingClient(pass.actors, application);
  const references = await readReferences(acting, application, signal);
  if (!references.ok) return references;
  const draft = parseApp(application, undefined, references.value);
  const referred = {
    policies: Object.fromEntries((references.value.policies ?? []).map((one) => [one.metadata.name ?? "", bare(one)])),
    ...(references.value.workflow === undefined ? {} : { workflow: bare(references.value.workflow) }),
    referredObjects: [],
  };
  const revisions = await listRevisions({ client, clock, signal }, application);
  const choice = decideRevision({
    name: application.metadata.name,
    annotations: application.metadata.annotations ?? {},
    snapshot: await snapshotOf(application, draft, live, referred),
    revisions,
    lastNumber: application.status?.latestRevision?.revision ?? 0,
  });
  const app = appOf(application, choice);
  const definitions = snapshotDefinitions(choice.snapshot, live);
  const problems = [
    ...(await documentProblems(pass, application, choice)),
    ...(await missingTypes(pass, app, definitions)),
  ];
  if (problems.length > 0) return err(problems.join("; "));
  return ok({ choice, revisions, app, definitions, writers: writersIn(choice) });
}

/** With what pre-render steps made of it, if that is kept beside it. */
async function withOverlay(
  { client, signal }: Pass,
  application: Stored<Application>,
): Promise<Result<Stored<Application>, string>> {
  const spec = await readOverlay(application, { client, signal });
  if (!spec.ok) return spec;
  // The steps have read it as an application.
  return ok(spec.value === undefined ? application : { ...application, spec: spec.value });
}

/** The application as its revision has it: a pinned one ignores edits. */
function appOf(application: Stored<Application>, { snapshot, name, number }: RevisionChoice): App {
  const spec = (snapshot.application["spec"] ?? {}) as Application["spec"];
  const revision: RevisionOf = { name, number };
  // Of the controller's own records, written from objects of these kinds.
  const workflow = snapshot.workflow as Workflow | undefined;
  const policies = Object.values(snapshot.policies) as unknown as readonly Policy[];
  return parseApp({ ...application, spec }, revision, {
    ...defined({ workflow }),
    policies,
  });
}

async function readReferences(
  acting: ApiClient,
  application: Stored<Application>,
  signal: AbortSignal,
): Promise<Result<AppReferences, string>> {
  const { namespace = "default" } = application.metadata;
  const { ref } = application.spec.workflow ?? {};
  let workflow: Stored<Workflow> | undefined;
  try {
    if (ref !== undefined) workflow = await acting.get<Workflow>({ type: Workflow, namespace, name: ref }, { signal });
  } catch (thrown) {
    signal.throwIfAborted();
    return err(
      isNotFound(thrown)
        ? `Workflow "${ref ?? ""}" not found in ns ${namespace}`
        : `Workflow "${ref ?? ""}": ${messageOf(thrown)}`,
    );
  }
  const known = workflow === undefined ? {} : { workflow };
  const app = parseApp(application, undefined, known);
  const own = new Set(app.policies.map(({ name }) => name));
  const names = new Set(withSubSteps(app.workflow.steps).flatMap(policiesOf));
  const policies: Stored<Policy>[] = [];
  for (const name of [...names].filter((one) => !own.has(one)).sort()) {
    const found = await acting.get<Policy>({ type: Policy, namespace, name }, { signal }).catch((thrown: unknown) => {
      signal.throwIfAborted();
      // The step reports a policy that does not exist.
      if (isNotFound(thrown)) return undefined;
      throw thrown;
    });
    if (found !== undefined) policies.push(found);
  }
  return ok({ ...known, policies });
}

const policiesOf = ({ properties: { policies } }: Step): readonly string[] =>
  Array.isArray(policies) ? policies.filter((one) => typeof one === "string") : [];

/** Without what changes although nothing was edited. */
function bare(object: Stored<Workflow> | Stored<Policy> | Workflow | Policy): JsonObject {
  const json = asJson(object);
  const { metadata, status: _status, ...rest } = json;
  const { name = "", annotations } = isJsonObject(metadata) ? metadata : {};
  const note = isJsonObject(annotations) ? textsOf(annotations)[actsForAnnotation] : undefined;
  return { ...rest, metadata: { name, ...(note === undefined ? {} : { annotations: { [actsForAnnotation]: note } }) } };
}

/** On clusters without Slipway's admission, stored applications may be wrong. */
async function documentProblems(
  { cue, signal }: Pass,
  application: Stored<Application>,
  { snapshot }: RevisionChoice,
): Promise<readonly string[]> {
  const found = collectProblems();
  const document = { ...asJson(application), spec: snapshot.application["spec"] };
  checkApplication(document, found);
  await checkExpressions(document, { cue, signal }, found);
  return found.problems.flatMap(({ severity, path, message }) => (severity === "error" ? [`${path}: ${message}`] : []));
}

async function missingTypes(pass: Pass, app: App, definitions: Definitions): Promise<readonly string[]> {
  const { namespace } = app.identity;
  const { systemDefinitionNamespace: systemNamespace } = pass.settings;
  const used = usedTypes(app);
  const missing: string[] = [];
  for (const [type, name] of used) {
    if (builtInTypes[type].includes(name) || (await definitions.find(type, name, namespace)) !== undefined) continue;
    missing.push(await notFoundMessage(definitions, { type, name, namespace, systemNamespace }));
  }
  return missing;
}

function usedTypes({ components, policies, workflow }: App): readonly (readonly [DefinitionType, string])[] {
  const steps = withSubSteps(workflow.steps);
  const names: Readonly<Record<DefinitionType, readonly string[]>> = {
    component: components.map(({ type }) => type),
    trait: components.flatMap(({ traits }) => traits.map(({ type }) => type)),
    policy: policies.map(({ type }) => type),
    "workflow-step": steps.map(({ type }) => type),
  };
  const types = ["component", "trait", "policy", "workflow-step"] as const;
  return types.flatMap((type) => [...new Set(names[type])].map((name) => [type, name] as const));
}

/** Everybody who wrote the revision itself, or what it consists of. */
const writersIn = ({ snapshot, existing }: RevisionChoice): readonly Writer[] =>
  distinctWriters([...(existing === undefined ? [] : writersOf(existing)), ...snapshotWriters(snapshot)]);
