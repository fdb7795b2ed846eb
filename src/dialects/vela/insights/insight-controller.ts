import { defined, isTrueAt, textAt } from "#lib/base/index.ts";
import {
  type ApiClient,
  controllerFor,
  type Informer,
  type Manager,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  requestFor,
  requestKey,
} from "#kernel/kit/index.ts";
import { asJson, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { ApplicationRevision } from "../kinds.ts";
import { label } from "../labels.ts";
import { type DeliveryRecord, Insight } from "../schema/insight.ts";
import { measure, withinWindow } from "./metrics.ts";

const byApplication = "application";
/** Deliveries leave the window also when nothing happens. */
const daily = 24 * 60 * 60 * 1000;

/** Keeps the status of Insights from the revisions of their applications. */
export function addInsightController(manager: Manager): void {
  const insights = manager.mirror<Insight>(Insight);
  const revisions = manager.mirror(ApplicationRevision);
  insights.addIndex(byApplication, (insight) => [applicationOf(insight)]);
  revisions.addIndex(byApplication, (revision) => [keyFor(revision, revision.metadata.labels?.[label.app])]);
  controllerFor(manager, "insight")
    .for<Insight>(Insight)
    .watches(ApplicationRevision, (revision) =>
      insights.byIndex(byApplication, keyFor(revision, revision.metadata.labels?.[label.app])).map(requestFor),
    )
    .complete(new InsightReconciler(manager.client, insights, revisions));
}

const keyFor = ({ metadata }: KubeObject, name = ""): string => `${metadata.namespace ?? ""}/${name}`;

const applicationOf = (insight: Insight): string =>
  keyFor(insight, insight.spec?.application ?? insight.metadata.labels?.[label.app]);

class InsightReconciler implements Reconciler {
  readonly #client: ApiClient;
  readonly #insights: Informer<Insight>;
  readonly #revisions: Informer;

  constructor(client: ApiClient, insights: Informer<Insight>, revisions: Informer) {
    this.#client = client;
    this.#insights = insights;
    this.#revisions = revisions;
  }

  async reconcile(request: ReconcileRequest, { now }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const insight = this.#insights.get(requestKey(request));
    if (insight === undefined || insight.metadata.deletionTimestamp !== undefined) return undefined;
    const known = insight.status?.records ?? [];
    const found = this.#revisions
      .byIndex(byApplication, applicationOf(insight))
      .flatMap((revision) => recordOf(revision, known) ?? []);
    const records = withinWindow(known, found, now);
    const { conditions } = insight.status ?? {};
    await patchStatus(this.#client, Insight, insight, {
      ...defined({ conditions }),
      observedGeneration: insight.metadata.generation ?? 1,
      ...measure(records, insight.spec ?? {}, now),
      records,
    });
    return { requeueAfter: daily };
  }
}

/** The run of a revision, if it has ended. Its first run delivers a change; a later one begins with itself. */
export function recordOf(revision: Stored, known: readonly DeliveryRecord[]): DeliveryRecord | undefined {
  const { name, creationTimestamp } = revision.metadata;
  const json = asJson(revision);
  const endTime = textAt(json, "status", "workflow", "endTime");
  if (endTime === undefined) return undefined;
  const isFirst = !known.some((record) => record.revision === name && record.endTime !== endTime);
  const startTime = textAt(json, "status", "workflow", "startTime") ?? creationTimestamp;
  const succeeded = isTrueAt(json, "status", "succeeded");
  return { revision: name, createdTime: isFirst ? creationTimestamp : startTime, endTime, succeeded };
}
