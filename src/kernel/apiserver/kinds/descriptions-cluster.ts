import type { TypeDescriptions } from "./descriptions.ts";

// Texts for `kubectl explain` of the kinds of core/v1 and networking.k8s.io/v1 that are about machines, networks and limits; the form and
// its rules are those of descriptions-core.ts. They say what holds on this server: what is only kept is called so, because who reads
// them wants to know what an object will do.

const metadata = "Name, labels, owners and what the server keeps about the object.";

export const clusterDescriptions: Readonly<Record<string, TypeDescriptions>> = {
  // Services promise; Pods in containers keep the promise, processes of this machine do not need it.
  "v1.Service": {
    "": "A name and an address for Pods with certain labels. Pods in containers reach it by name.",
    metadata,
    spec: "Which Pods, and by which ports.",
    status: "Not used.",
  },
  // Types beyond ClusterIP get their numbers, and nothing listens on them.
  "v1.ServiceSpec": {
    "": "Which Pods a service stands for, and how it is reached.",
    type: "ClusterIP, NodePort, LoadBalancer, or ExternalName for a name outside. ClusterIP when absent.",
    selector: "Labels of the Pods.",
    ports: "Where it listens. Several are told apart by names.",
    clusterIP: "Its address, given by the server; None for a name of the Pods themselves. Cannot be changed.",
    clusterIPs: "The address once more, as a list of one.",
    externalName: "The name outside that it stands for.",
    externalIPs: "Addresses outside that somebody else leads to it.",
    sessionAffinity: "Kept, without effect.",
    publishNotReadyAddresses: "True: Pods that are not ready count too.",
    ipFamilies: "IPv4, the only family there is.",
    ipFamilyPolicy: "SingleStack.",
  },
  // Ports are told apart by port and protocol (merge keys of apply).
  "v1.ServicePort": {
    "": "One port of a service.",
    name: "Tells ports apart; may be absent when there is one.",
    port: "Where the service listens.",
    targetPort: "Where the Pods listen: a number, or the name of a port. The same as port when absent.",
    protocol: "TCP, UDP or SCTP. TCP when absent.",
    nodePort: "Given by the server for types that have one.",
  },
  // Enforced where objects are created, see ../verbs/quota.ts.
  "v1.ResourceQuota": {
    "": "Limits how many objects a namespace may hold.",
    metadata,
    spec: "The limits.",
    status: "How much is used.",
  },
  // What can be counted: see quota-measures.ts.
  "v1.ResourceQuotaSpec": {
    "": "The limits of a namespace.",
    hard: "Limits by name: pods, or count/ and a kind such as count/jobs.batch. Amounts of machines are kept, not enforced.",
    scopes: "Kept, not evaluated.",
    scopeSelector: "Kept, not evaluated.",
  },
  // Written after the fact, see ../gc/quotas.ts; nothing is decided by it.
  "v1.ResourceQuotaStatus": {
    "": "How much of the limits is used.",
    hard: "The limits that were counted.",
    used: "What there is.",
  },
  // One machine: the runner writes its Node, and every claim is a directory on it.
  "v1.Node": {
    "": "A machine. This server has one, itself.",
    metadata,
    spec: "Kept, without effect.",
    status: "What the machine is and has.",
  },
  // Written by the runner when it starts (workloads/nodes).
  "v1.NodeStatus": {
    "": "What a machine is and has.",
    addresses: "Where it is reached.",
    allocatable: "What Pods may use of it.",
    capacity: "What it has.",
    conditions: "Ready: it takes Pods.",
    nodeInfo: "Its operating system, and what runs Pods.",
  },
  "v1.PersistentVolumeClaim": {
    "": "A directory that outlives Pods.",
    metadata,
    spec: "What is asked for.",
    status: "Whether it is there.",
  },
  // Sizes are promises on paper: a directory has no size of its own.
  "v1.PersistentVolumeClaimSpec": {
    "": "What a claim asks for.",
    accessModes: "How it may be used: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.",
    resources: "How much is asked for. It is not enforced.",
    storageClassName: "Kept, without effect.",
    volumeMode: "Filesystem.",
    volumeName: "Given by the server.",
  },
  // Bound as soon as the directory is there (workloads/claims).
  "v1.PersistentVolumeClaimStatus": {
    "": "Whether a claim has its directory.",
    phase: "Pending or Bound.",
    accessModes: "How it may be used.",
    capacity: "How much was promised.",
  },
  // Stored only, see stored-only.ts.
  "v1.DaemonSet": {
    "": "A Pod on every machine. Stored, not acted upon.",
    metadata,
    spec: "The desired state.",
    status: "Nothing: no controller of this server writes it.",
  },
  "v1.Ingress": {
    "": "Names of the web that lead to services. Stored, not acted upon.",
    metadata,
    spec: "The desired state.",
    status: "Nothing: no controller of this server writes it.",
  },
  "v1.NetworkPolicy": {
    "": "Who may talk to whom. Stored, not acted upon: nothing is kept apart by it.",
    metadata,
    spec: "The desired state.",
  },
  "v2.HorizontalPodAutoscaler": {
    "": "How many Pods there are to be, by what they use. Stored, not acted upon.",
    metadata,
    spec: "The desired state.",
    status: "Nothing: no controller of this server writes it.",
  },
  "v1.PodDisruptionBudget": {
    "": "How many Pods may be taken away by choice. Stored, not acted upon.",
    metadata,
    spec: "The desired state.",
    status: "Nothing: no controller of this server writes it.",
  },
  "v1.Endpoints": {
    "": "Addresses behind a Service. Stored, not acted upon: Services here find their Pods by labels.",
    metadata,
    subsets: "Addresses and the ports they all have.",
  },
  "v1.PersistentVolume": {
    "": "A place for data that claims may be bound to. Stored, not acted upon: claims here get places of their own.",
    metadata,
    spec: "What it is and who may have it.",
    status: "Pending: no controller of this server writes it.",
  },
  "v1.ReplicationController": {
    "": "What ReplicaSets were before Deployments. Stored, not acted upon.",
    metadata,
    spec: "The desired state.",
    status: "Nothing: no controller of this server writes it.",
  },
  "v1.LimitRange": {
    "": "Least, most and usual resources of Pods. Stored, not acted upon.",
    metadata,
    spec: "The desired state.",
  },
  "v1.PriorityClass": {
    "": "The priority of Pods. Stored, not acted upon: every Pod starts at once here.",
    metadata,
    value: "Pods with a larger value come first.",
    globalDefault: "True: the class of Pods that name none.",
    description: "When to use the class, for people.",
    preemptionPolicy: "PreemptLowerPriority or Never.",
  },
  "v1.StorageClass": {
    "": "How volumes are made. Stored, not acted upon: every claim is a directory, whatever class it names.",
    metadata,
    provisioner: "Who makes the volumes.",
    parameters: "Options of the provisioner.",
    reclaimPolicy: "Delete or Retain.",
    mountOptions: "Options of the mounts.",
    allowVolumeExpansion: "True: volumes can grow.",
    volumeBindingMode: "Immediate or WaitForFirstConsumer.",
    allowedTopologies: "Where volumes may be made.",
  },
  "v1.CertificateSigningRequest": {
    "": "Asks a signer for a certificate. Stored, not acted upon: no signer runs in this server.",
    metadata,
    spec: "What is asked for, and by whom. Cannot be changed.",
    status: "What the signer decided.",
  },
  // The requestor is written by the server, see stored-classes.ts.
  "v1.CertificateSigningRequestSpec": {
    "": "What is asked for, and by whom.",
    request: "The PKCS #10 request in PEM form, base64-encoded.",
    signerName: "The signer that is asked.",
    expirationSeconds: "How long the certificate is to be valid.",
    usages: "What the key is to be used for.",
    username: "The user who created the request, written by the server.",
    groups: "The groups of that user, written by the server.",
  },
  "v1.ControllerRevision": {
    "": "A former or the present template of a StatefulSet.",
    metadata,
    data: "The template. Cannot be changed.",
    revision: "Counts the templates of the controller.",
  },
  "v1.PodTemplate": {
    "": "A template of Pods, for programs that make Pods of it.",
    metadata,
    template: "What the Pods look like.",
  },
};
