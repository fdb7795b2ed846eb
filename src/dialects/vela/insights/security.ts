import { defined, type JsonValue, textAt } from "#lib/base/index.ts";
import { controllerFor, type Manager, patchStatus, type ReconcileRequest, requestKey } from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import type { App } from "../app.ts";
import { Application } from "../kinds.ts";
import { label } from "../labels.ts";
import { SecurityProfile, type SecurityProfileSpec } from "../schema/security-profile.ts";

// The policy `security`: its objects are rendered by its definition; here is what the controller has to know.

const type = "security";

/** Of an application, as it is stored or parsed. */
interface Policies {
  readonly policies?: readonly { readonly type: string; readonly properties?: JsonValue | undefined }[];
}

const isEnabled = ({ policies = [] }: Policies, property: "rbac" | "audit"): boolean =>
  policies.some((policy) => policy.type === type && textAt(policy.properties, property) === "enabled");

const accountOf = (name: string): string => `${name}-workflow`;

/** The ServiceAccount whose rights limit the steps; undefined without limits by the policy. */
export const workflowAccount = (app: Pick<App, "policies" | "identity">): string | undefined =>
  isEnabled(app, "rbac") ? accountOf(app.identity.name) : undefined;

/** Whether every operation of people on the workflow is recorded as an Event. */
export const isAudited = (app: Policies): boolean => isEnabled(app, "audit");

/** Keeps the status of SecurityProfiles. */
export function addSecurityController(manager: Manager): void {
  const profiles = manager.mirror<SecurityProfile>(SecurityProfile);
  const applications = manager.mirror<Application>(Application);
  const reconcile = async (request: ReconcileRequest): Promise<undefined> => {
    const profile = profiles.get(requestKey(request));
    if (profile === undefined || profile.metadata.deletionTimestamp !== undefined) return;
    const { conditions } = profile.status ?? {};
    await patchStatus(manager.client, SecurityProfile, profile, {
      ...defined({ conditions }),
      observedGeneration: profile.metadata.generation ?? 1,
      ...profileStatus(profile.spec ?? {}, applications.get(applicationKey(profile))),
    });
  };
  controllerFor(manager, "security-profile")
    .for<SecurityProfile>(SecurityProfile)
    .watches<Application>(
      Application,
      (application) =>
        profiles
          .list()
          .filter((profile) => applicationKey(profile) === keyOf(application.metadata))
          .map(({ metadata: { namespace = "", name } }) => ({ namespace, name })),
      // Of the statuses of applications nothing is read.
      {
        predicates: [
          ({ type, object, old }) => type !== "update" || object.metadata.generation !== old?.metadata.generation,
        ],
      },
    )
    .complete({ reconcile });
}

const applicationKey = (profile: Stored<SecurityProfile>): string =>
  keyOf({
    namespace: profile.metadata.namespace ?? "",
    name: profile.spec?.application ?? profile.metadata.labels?.[label.app] ?? "",
  });

/** What is in force, for people: what the application's own policy says, whatever the profile asks for. */
export function profileStatus(
  { secretBackend }: Pick<SecurityProfileSpec, "secretBackend">,
  application: Pick<Stored<Application>, "metadata" | "spec"> | undefined,
) {
  if (application === undefined) return { message: "the application does not exist, so nothing is in force" };
  const account = isEnabled(application.spec, "rbac") ? accountOf(application.metadata.name) : undefined;
  const parts = [
    account === undefined
      ? "the workflow has the rights of its writers"
      : `steps have only the rights that both ${account} and the writers of the application have; steps before rendering have those of the writers`,
    isAudited(application.spec) ? "operations on the workflow are recorded as Events" : "operations are not recorded",
    ...(secretBackend === "vault"
      ? ["secretBackend vault is not supported: secrets are kept in Kubernetes Secrets"]
      : []),
  ];
  return { message: parts.join("; "), ...defined({ serviceAccount: account }) };
}
