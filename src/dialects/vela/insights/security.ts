import { controllerFor, type Manager, patchStatus, type ReconcileRequest, requestKey } from "#kernel/kit/index.ts";
import type { App, Policy } from "../app.ts";
import { SecurityProfile, type SecurityProfileSpec } from "../schema/security-profile.ts";

// The policy `security`: its objects are rendered by its definition; here is what the controller has to know.

const type = "security";

const policyOf = ({ policies }: Pick<App, "policies">): Policy | undefined =>
  policies.find((policy) => policy.type === type);

/** The ServiceAccount that the workflow runs under; undefined without limits by the policy. */
export const workflowAccount = (app: Pick<App, "policies" | "identity">): string | undefined =>
  policyOf(app)?.properties["rbac"] === "enabled" ? `${app.identity.name}-workflow` : undefined;

/** Whether every operation of people on the workflow is recorded as an Event. */
export const isAudited = (app: Pick<App, "policies">): boolean => policyOf(app)?.properties["audit"] === "enabled";

/** Keeps the status of SecurityProfiles. */
export function addSecurityController(manager: Manager): void {
  const profiles = manager.mirror<SecurityProfile>(SecurityProfile);
  const reconcile = async (request: ReconcileRequest): Promise<undefined> => {
    const profile = profiles.get(requestKey(request));
    if (profile === undefined || profile.metadata.deletionTimestamp !== undefined) return;
    const { conditions } = profile.status ?? {};
    await patchStatus(manager.client, SecurityProfile, profile, {
      ...(conditions === undefined ? {} : { conditions }),
      observedGeneration: profile.metadata.generation ?? 1,
      ...profileStatus(profile.spec ?? {}),
    });
  };
  controllerFor(manager, "security-profile").for<SecurityProfile>(SecurityProfile).complete({ reconcile });
}

/** What is in force, for people. */
export function profileStatus({ rbac, audit, secretBackend, serviceAccountName }: SecurityProfileSpec) {
  const account = rbac === "enabled" ? serviceAccountName : undefined;
  const parts = [
    account === undefined ? "the workflow runs with its writers' rights" : `the workflow runs as ${account}`,
    audit === "enabled" ? "operations are recorded as Events" : "operations are not recorded",
    ...(secretBackend === "vault"
      ? ["secretBackend vault is not supported: secrets are kept in Kubernetes Secrets"]
      : []),
  ];
  return { message: parts.join("; "), ...(account === undefined ? {} : { serviceAccount: account }) };
}
