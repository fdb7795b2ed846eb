import { type Case, refused } from "../suite/case.ts";

// What `kubectl create KIND` sends (protobuf from 1.32 on) and what `create -f` of the same object sends (JSON) is one object.

interface Creation {
  readonly kind: string;
  readonly create: string;
  readonly needs?: readonly string[];
  readonly since?: number;
}

const creations: readonly Creation[] = [
  { kind: "configmap", create: "configmap x --from-literal=a=b --from-literal=c=" },
  { kind: "secret", create: "secret generic x --from-literal=a=b" },
  { kind: "secret", create: "secret docker-registry x --docker-server=r --docker-username=u --docker-password=p" },
  { kind: "serviceaccount", create: "serviceaccount x" },
  { kind: "job", create: "job x --image=busybox -- true" },
  {
    kind: "cronjob",
    create: "cronjob x --image=busybox --schedule='0 0 1 1 *' -- true",
    needs: ["cronjobs.batch"],
    since: 21,
  },
  { kind: "deployment", create: "deployment x --image=busybox --replicas=0 --port=80", needs: ["deployments.apps"] },
  { kind: "service", create: "service clusterip x --tcp=80:8080", needs: ["services"] },
  { kind: "service", create: "service externalname x --external-name=example.org", needs: ["services"] },
  {
    kind: "role",
    create: "role x --verb=get,list --resource=pods,pods/log",
    needs: ["roles.rbac.authorization.k8s.io"],
  },
  { kind: "rolebinding", create: "rolebinding x --role=y --user=u", needs: ["rolebindings.rbac.authorization.k8s.io"] },
  { kind: "quota", create: "quota x --hard=pods=3", needs: ["resourcequotas"] },
];

/** Without what differs between two creations of one object: a controller may have written to the one and not yet to the other. */
const plain =
  'kubectl get KIND x -o json | sed -E \'/^ {8}"managedFields": /,/^ {8}],?$/d; /^ {8}"annotations": /,/^ {8}[}],?$/d; /"(creationTimestamp|resourceVersion|uid|startTime|lastTransitionTime|lastProbeTime|clusterIP|time|manager)"/d; /"metadata": [{][}],?$/d; /^ *"1?[0-9]+\\.[0-9.]+"$/d; s/[0-9a-f]{8}-[0-9a-f-]{27}//\'';

const sameAsFile = ({ kind, create, needs = [], since = 0 }: Creation): Case => ({
  line: 2,
  name: `create ${create.replace(/ x\b.*/, "")} stores what create -f of the same object stores`,
  needs,
  since,
  steps: [
    [`kubectl create ${create}`, /created\n$/],
    [`${plain.replace("KIND", kind)} | sed '/"status": {/,$d' >one`],
    [`kubectl delete ${kind} x`],
    [`kubectl create ${create.replace(/( -- |$)/, " --dry-run=client -o yaml$1")} >x.yaml && kubectl create -f x.yaml`],
    [`${plain.replace("KIND", kind)} | sed '/"status": {/,$d' >two; diff one two`, ""],
  ],
});

export const creatingCases: readonly Case[] = [
  ...creations.map(sameAsFile),
  {
    line: 2,
    name: "create priorityclass, found by its short name",
    needs: ["priorityclasses.scheduling.k8s.io"],
    steps: [
      ["kubectl create priorityclass $NS --value=7 --description=d", "priorityclass.scheduling.k8s.io/$NS created\n"],
      ["kubectl get pc $NS -o 'jsonpath={.value} {.description} {.preemptionPolicy}'", "7 d PreemptLowerPriority"],
      ["kubectl delete priorityclass $NS"],
    ],
  },
  {
    line: 2,
    name: "create namespace, with what every namespace has",
    steps: [
      ["kubectl create ns $NS-y", "namespace/$NS-y created\n"],
      ["kubectl create ns $NS-y", refused(/namespaces "\S+-y" already exists/)],
      [
        "kubectl get ns $NS-y -o 'jsonpath={.spec.finalizers} {.metadata.labels}'",
        /^\["kubernetes"\] \{"kubernetes\.io\/metadata\.name":/,
      ],
      ["kubectl delete ns $NS-y --wait=false"],
    ],
  },
  {
    line: 2,
    name: "create token gives a token of a ServiceAccount that the server knows",
    since: 24,
    needs: ["serviceaccounts/token"],
    steps: [
      ["kubectl create sa bot"],
      ["kubectl create token bot --duration=10m >token"],
      ["tr -cd . <token | wc -c", /^ *2\n$/],
      ["kubectl config view --raw --flatten --minify >own"],
      ["kubectl config --kubeconfig=own set-credentials bot --token=$(cat token)"],
      ["kubectl config --kubeconfig=own set-context --current --user=bot"],
      ["kubectl --kubeconfig=own get secrets", refused(/User "system:serviceaccount:conf-\S+:bot" cannot list/)],
      ["kubectl create token nobody", refused(/serviceaccounts "nobody" not found/)],
    ],
  },
];
