import type { TypeDescriptions } from "./descriptions.ts";

// Texts for `kubectl explain` of apps/v1; the form and its rules are those of descriptions-core.ts.

const metadata = "Name, labels, owners and what the server keeps about the object.";
const selector = "Labels of the Pods. The template has them. Cannot be changed.";
const minReadySeconds = "Time a Pod must be ready before it counts as available.";
const template = "What its Pods look like. Their restartPolicy is Always.";
const replicas = "Pods that are wanted. 1 when absent.";

// They say what this server does, which is what Kubernetes does but for what is said in #kernel/workloads: a ReplicaSet whose Pods end
// at once makes new ones ever more slowly. Texts that several types share stand above, so that they cannot come to differ.

export const appsDescriptions: Readonly<Record<string, TypeDescriptions>> = {
  "v1.Deployment": {
    "": "Keeps Pods of one template alive, and replaces them step by step when the template changes.",
    metadata,
    spec: "What is wanted.",
    status: "What there is.",
  },
  "v1.DeploymentSpec": {
    "": "How many Pods, of which template, and how they are replaced.",
    replicas,
    selector,
    template,
    minReadySeconds,
    strategy: "How Pods of an old template give way to those of the new one.",
    paused: "While it is true a new template waits.",
    revisionHistoryLimit: "Former templates that are kept to go back to. 10 when absent.",
    progressDeadlineSeconds: "Time without progress after which an update counts as stuck. 600 when absent.",
  },
  // Defaults are told where they are more than an absence: people look them up here.
  "v1.DeploymentStrategy": {
    "": "How Pods are replaced.",
    type: "RollingUpdate: a few at a time. Recreate: the old ones end before the first new one starts.",
    rollingUpdate: "How many at a time.",
  },
  "v1.RollingUpdateDeployment": {
    "": "How far an update may stray from the wanted number of Pods.",
    maxSurge: "Pods above it, as a number or a share. 25% when absent, rounded up.",
    maxUnavailable: "Pods below it, as a number or a share. 25% when absent, rounded down.",
  },
  // Counts are sums over all ReplicaSets of the Deployment, as these last counted themselves.
  "v1.DeploymentStatus": {
    "": "Counts of its Pods.",
    observedGeneration: "The generation these counts are of.",
    replicas: "Pods of all templates.",
    updatedReplicas: "Pods of the present template.",
    readyReplicas: "Pods that are ready.",
    availableReplicas: "Pods that have been ready for minReadySeconds.",
    unavailableReplicas: "Pods that are wanted and not available.",
    conditions: "Available, Progressing, ReplicaFailure.",
  },
  "v1.StatefulSet": {
    "": "Keeps Pods with names and volumes of their own alive: web-0, web-1 and so on.",
    metadata,
    spec: "What is wanted.",
    status: "What there is.",
  },
  "v1.StatefulSetSpec": {
    "": "How many Pods, of which template, in which order, with which claims.",
    replicas,
    selector,
    template,
    minReadySeconds,
    serviceName: "The headless Service under which the Pods have names. Cannot be changed.",
    podManagementPolicy:
      "OrderedReady: one Pod after the other, the default. Parallel: all at once. Cannot be changed.",
    updateStrategy: "How Pods of an old template give way to those of the new one.",
    volumeClaimTemplates: "Each Pod has a claim of each, named after it. Cannot be changed.",
    persistentVolumeClaimRetentionPolicy:
      "Whether claims stay when the set is deleted or scaled down. They do when absent.",
    ordinals: "Where the numbers of the Pods begin. 0 when absent.",
    revisionHistoryLimit: "Former templates that are kept to go back to. 10 when absent.",
  },
  "v1.StatefulSetUpdateStrategy": {
    "": "How Pods are replaced.",
    type: "RollingUpdate: one at a time, the highest number first. OnDelete: when somebody deletes them.",
    rollingUpdate: "Which Pods are replaced.",
  },
  "v1.RollingUpdateStatefulSetStrategy": {
    "": "Which Pods are replaced.",
    partition: "Pods with a lower number keep the former template. 0 when absent.",
    maxUnavailable: "Kept, without effect: one Pod at a time is replaced.",
  },
  "v1.StatefulSetStatus": {
    "": "Counts of its Pods.",
    observedGeneration: "The generation these counts are of.",
    replicas: "Pods there are.",
    readyReplicas: "Pods that are ready.",
    availableReplicas: "Pods that have been ready for minReadySeconds.",
    currentReplicas: "Pods of the former template, or of the only one.",
    updatedReplicas: "Pods of the present template.",
    currentRevision: "The ControllerRevision of the former template.",
    updateRevision: "The ControllerRevision of the present template.",
  },
  // ReplicaSets are explained for who debugs a Deployment; nobody writes them by hand.
  "v1.ReplicaSet": {
    "": "Keeps a number of Pods of one template alive. Deployments make them.",
    metadata,
    spec: "What is wanted.",
    status: "What there is.",
  },
  "v1.ReplicaSetSpec": {
    "": "How many Pods, and of which template.",
    replicas,
    selector,
    template,
    minReadySeconds,
  },
  "v1.ReplicaSetStatus": {
    "": "Counts of its Pods that have neither ended nor begun to end.",
    replicas: "All of them.",
    fullyLabeledReplicas: "Those with all labels of the template.",
    readyReplicas: "Those that are ready.",
    availableReplicas: "Those that have been ready for minReadySeconds.",
    observedGeneration: "The generation these counts are of.",
    conditions: "ReplicaFailure.",
  },
};
