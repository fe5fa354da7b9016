/** One kind of secret. */
export interface SecretRule {
  kind: string;
  /** Every secret of the kind contains one of these, in this letter case. */
  markers: readonly string[];
  /** The secret is group 1 of the match, or else the whole match. */
  pattern: RegExp;
  /** True if the secret is a value that only its name marks. */
  isValue?: true;
  /** The least Shannon entropy, in bits per character. Less random texts are placeholders. 0 if the pattern alone decides. */
  entropyMin: number;
}

/** No letter or digit is before this place, or an escape of JSON, of a URL or of a terminal ends here. */
const BEGINNING = String.raw`(?:(?<![A-Za-z\d])|(?<=\\(?:[nrt]|u[\da-fA-F]{4})|%[\dA-F]{2}|\x1b\[[\d;]{0,20}[mK]))`;
const ENDING = String.raw`(?![A-Za-z\d])`;

function rule(kind: string, markers: string, pattern: RegExp, entropyMin = 3): SecretRule {
  const source = pattern.source.replace(/^\\b/, () => BEGINNING).replaceAll("\\b", () => ENDING);
  return { kind, markers: markers.split(" "), pattern: new RegExp(source, `${pattern.flags}dg`), entropyMin };
}

/** A rule for the value of a name that says it is secret. The value is group 1. Names and calls of programs are not values. */
function valueRule(kind: string, markers: string, pattern: RegExp, entropyMin = 2.5): SecretRule {
  return { ...rule(kind, markers, pattern, entropyMin), isValue: true };
}

/** A quote, which may be escaped because it stands in JSON. */
const QUOTE = String.raw`\\{0,3}["']`;
/** The end of a name whose value is secret. */
const SECRET_NAME = `(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|(?:access|auth|api|bot|refresh|session)[_-]?token)`;

/**
 * Secrets that their providers marked with a fixed beginning, and then values that their syntax marks: a header, an assignment in
 * capitals, a value in quotes after a name in quotes, an option. The patterns and thresholds of the first are those of gitleaks (MIT,
 * config/gitleaks.toml of July 2026). Its rules that look for words such as `password` near any value are left out, because
 * conversations about code are full of these.
 */
export const SECRET_RULES: readonly SecretRule[] = [
  rule(
    "private-key",
    "PRIVATE KEY",
    /-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?:[^-]{64,20000}(?:-[^-]{0,1000}){0,20}?-----END[ A-Z0-9_-]{0,100}KEY(?: BLOCK)?-----|(?:[A-Za-z0-9+/=\s\\]|(?<=\n)-(?!-)){64,})/,
    0,
  ),
  rule("1password-token", "ops_eyJ", /ops_eyJ[a-zA-Z0-9+/]{250,}={0,3}/, 4),
  rule("age-secret-key", "AGE-SECRET-KEY-1", /AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}/),
  rule("alibaba-access-key", "LTAI", /\bLTAI[a-zA-Z0-9]{20}\b/),
  rule("anthropic-api-key", "sk-ant-", /\bsk-ant-(?:api|admin|oat|ort)\d\d-[\w-]{80,120}/),
  rule("artifactory-token", "AKCp cmVmd", /\b(?:AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59})\b/, 4.5),
  rule("atlassian-token", "ATATT3", /\bATATT3[A-Za-z0-9_=-]{186}/, 3.5),
  rule("aws-access-key", "AKIA ASIA ABIA ACCA", /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/),
  rule(
    "aws-secret-key",
    "aws_secret AWS_SECRET secretAccessKey SecretAccessKey",
    /(?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|secretAccessKey|SecretAccessKey)["'\\]{0,4}\s{0,3}[:=]\s{0,3}["'\\]{0,4}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/,
    4,
  ),
  rule("aws-bedrock-key", "ABSK", /\bABSK[A-Za-z0-9+/]{109,269}={0,2}/),
  rule("azure-client-secret", "Q~", /(?<![\w~.-])[a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34}(?![\w~.-])/),
  rule("azure-storage-key", "AccountKey=", /AccountKey=([A-Za-z0-9+/]{86}==)/, 4),
  rule("cloudflare-origin-key", "v1.0-", /\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b/),
  rule("databricks-token", "dapi", /\bdapi[a-f0-9]{32}(?:-\d)?\b/),
  rule("digitalocean-token", "doo_v1_ dop_v1_ dor_v1_", /\bdo[opr]_v1_[a-f0-9]{64}\b/),
  rule("discord-webhook", "/api/webhooks/", /https:\/\/discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/([\w-]{60,80})/),
  rule("doppler-token", "dp.pt.", /\bdp\.pt\.[a-zA-Z0-9]{43}\b/),
  rule("dynatrace-token", "dt0c01.", /\bdt0c01\.[a-zA-Z0-9]{24}\.[a-zA-Z0-9]{64}\b/, 4),
  rule("flyio-token", "fo1_ fm1r_ fm1a_ fm2_", /\b(?:fo1_[\w-]{43}|fm(?:1[ar]|2)_[a-zA-Z0-9+/]{60,}={0,3})/, 4),
  rule("google-api-key", "AIza", /\bAIza[\w-]{35}(?![\w-])/),
  rule("google-oauth-secret", "GOCSPX-", /\bGOCSPX-[\w-]{28}(?![\w-])/),
  rule("google-oauth-token", "ya29.", /\bya29\.[\w-]{60,}/),
  rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", /\bgh[pousr]_[0-9a-zA-Z]{36,255}\b/),
  rule("github-fine-grained-token", "github_pat_", /\bgithub_pat_\w{82}\b/),
  rule(
    "gitlab-token",
    "glpat- glcbt- gldt- glft- glimt- glagent- gloas- glptt- glrt- glsoat- glffct-",
    /\bgl(?:pat|cbt|dt|ft|imt|agent|oas|ptt|rt|soat|ffct)-[\w-]{20,300}(?:\.[0-9a-z]{9})?/,
  ),
  rule("grafana-token", "glc_ glsa_", /\b(?:glc_[A-Za-z0-9+/]{32,400}={0,3}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}\b)/),
  rule("groq-api-key", "gsk_", /\bgsk_[A-Za-z0-9]{52}\b/),
  rule("heroku-api-key", "HRKU-AA", /\bHRKU-AA[0-9a-zA-Z_-]{58}/, 4),
  rule("huggingface-token", "hf_ api_org_", /\b(?:hf|api_org)_[a-zA-Z]{34}\b/),
  rule("infracost-key", "ico-", /\bico-[a-zA-Z0-9]{32}\b/),
  rule("jwt", "eyJ", /\b(?<!-)eyJ[a-zA-Z0-9_-]{14,}\.eyJ?[a-zA-Z0-9/\\_-]{17,}\.[a-zA-Z0-9/\\_-]{10,}={0,2}/),
  rule("langsmith-key", "lsv2_", /\blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}\b/),
  rule("linear-api-key", "lin_api_", /\blin_api_[a-zA-Z0-9]{40}\b/),
  rule("mailgun-key", "key-", /\bkey-[a-f0-9]{32}\b/, 3.2),
  rule(
    "microsoft-teams-webhook",
    "webhook.office.com",
    /https:\/\/[a-z0-9]+\.webhook\.office\.com\/webhookb2\/[\w@/-]{80,}/,
  ),
  rule("new-relic-key", "NRAK- NRII- NRJS-", /\b(?:NRAK-[A-Z0-9]{27}|NRII-[\w-]{32}|NRJS-[a-f0-9]{19})\b/),
  rule("notion-token", "ntn_", /\bntn_[A-Za-z0-9]{40,60}\b/, 4),
  rule("npm-token", "npm_", /\bnpm_[a-zA-Z0-9]{36}\b/),
  rule(
    "openai-api-key",
    "T3BlbkFJ",
    /\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,80}|[a-zA-Z0-9]{20})T3BlbkFJ[A-Za-z0-9_-]{20,80}/,
  ),
  rule("openrouter-api-key", "sk-or-v1-", /\bsk-or-v1-[a-f0-9]{64}\b/),
  rule("perplexity-api-key", "pplx-", /\bpplx-[a-zA-Z0-9]{48}\b/, 4),
  rule("planetscale-token", "pscale_", /\bpscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}/),
  rule("postman-key", "PMAK-", /\bPMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}\b/),
  rule("prefect-key", "pnu_", /\bpnu_[a-zA-Z0-9]{36}\b/),
  rule("pulumi-token", "pul-", /\bpul-[a-f0-9]{40}\b/),
  rule("pypi-token", "pypi-AgEIcHlwaS5vcmc", /pypi-AgEIcHlwaS5vcmc[\w-]{50,1000}/),
  rule("replicate-token", "r8_", /\br8_[a-zA-Z0-9]{37}\b/),
  rule("rubygems-key", "rubygems_", /\brubygems_[a-f0-9]{48}\b/),
  rule("sendgrid-key", "SG.", /\bSG\.[\w-]{22}\.[\w-]{43}(?![\w-])/),
  rule("sendinblue-key", "xkeysib-", /\bxkeysib-[a-f0-9]{64}-[a-zA-Z0-9]{16}\b/),
  rule("sentry-token", "sntrys_ sntryu_", /\b(?:sntrys_eyJpYXQiO[\w+/=]{80,500}|sntryu_[a-f0-9]{64}\b)/, 3.5),
  rule("shopify-token", "shpat_ shpca_ shppa_ shpss_", /\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b/),
  rule("slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe", /\bxox[abopers](?:\.xox[bp])?-[\w-]{20,200}/),
  rule("slack-app-token", "xapp-", /\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+/),
  rule(
    "slack-webhook",
    "hooks.slack.com",
    /hooks\.slack\.com\/(?:services|workflows|triggers)\/([A-Za-z0-9+/]{43,56})/,
  ),
  rule("sourcegraph-token", "sgp_", /\bsgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}\b/),
  rule("square-token", "sq0atp- sq0csp-", /\bsq0(?:atp|csp)-[\w-]{22,60}/),
  rule(
    "stripe-key",
    "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_",
    /\b[sr]k_(?:test|live|prod)_[a-zA-Z0-9]{16,99}\b/,
  ),
  rule("supabase-key", "sb_secret_ sbp_", /\b(?:sb_secret_[\w-]{31,}|sbp_[a-f0-9]{40}\b)/),
  rule("tavily-key", "tvly-", /\btvly-(?:dev-|prod-)?[a-zA-Z0-9]{32}\b/),
  rule("telegram-bot-token", ":AA", /\b\d{8,10}:AA[\w-]{33}(?![\w-])/),
  rule("twilio-key", "SK", /\bSK[0-9a-f]{32}\b/),
  rule("vault-token", "hvs. hvb.", /\b(?:hvs\.[\w-]{90,120}|hvb\.[\w-]{138,300})/, 3.5),
  rule("vercel-token", "vcp_ vck_", /\bvc[pk]_[a-zA-Z0-9]{50,60}\b/),
  rule("xai-api-key", "xai-", /\bxai-[a-zA-Z0-9]{80}\b/),
  rule(
    "url-password",
    "://",
    /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:/@'"`<>()[\]{}|\\]{0,80}:([^\s:/@'"`<>()[\]{}|\\$*]{6,200})@[a-zA-Z0-9.-]{2,}/,
    2.6,
  ),
  rule("deepseek-api-key", "sk-", /\bsk-[a-f0-9]{32}\b/),
  rule("figma-token", "figd_", /\bfigd_[\w-]{40}/),
  rule("pinecone-key", "pcsk_", /\bpcsk_[a-zA-Z0-9_]{50,80}/),
  rule("vercel-blob-token", "vercel_blob_rw_", /\bvercel_blob_rw_[a-zA-Z0-9_]{30,80}/),
  rule("webhook-secret", "whsec_", /\bwhsec_[A-Za-z0-9+/]{24,}={0,2}/),
  rule("discord-bot-token", ".", /\b[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{27,45}\b/, 4),
  rule("signed-url", "sig= -Signature=", /[?&](?:sig|X-Amz-Signature|X-Goog-Signature)=([A-Za-z0-9%+/\-_]{24,})/),
  valueRule(
    "authorization-header",
    "uthorization AUTHORIZATION",
    /\bauthorization(?:\\{0,3}["'])?\s{0,3}[:=,]\s{0,3}(?:\\{0,3}["'])?(?:bearer|basic|token|apikey)\s{1,3}([A-Za-z0-9._~+/=-]{12,2000})/i,
    3,
  ),
  valueRule(
    "api-key-header",
    "-Key -KEY -key -Token -token",
    /\bx-(?:[a-z]{1,20}-){0,3}(?:key|token)(?:\\{0,3}["'])?\s{0,3}:\s{0,3}(?:\\{0,3}["'])?([A-Za-z0-9._~+/=-]{16,500})/i,
    3,
  ),
  valueRule(
    "npm-token",
    "_auth _password",
    /(?<![A-Za-z\d])_(?:authToken|auth|password)\s{0,3}=\s{0,3}"?([A-Za-z0-9._~+/=-]{8,500})/,
  ),
  valueRule(
    "registry-auth",
    '"auth" "identitytoken"',
    new RegExp(`${QUOTE}(?:auth|identitytoken)${QUOTE}\\s*:\\s*${QUOTE}([A-Za-z0-9+/=._\\-]{12,4000})${QUOTE}`),
  ),
  valueRule(
    "kubeconfig-key",
    "client-key-data",
    /client-key-data["']?\s{0,3}:\s{0,3}["']?([A-Za-z0-9+/]{24,20000}={0,2})/,
    3,
  ),
  valueRule(
    "environment-secret",
    "=",
    /\b(?:[A-Z][A-Z0-9]{0,30}_){0,8}(?:PG|REDIS)?(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|CREDENTIALS?)=(?:\\{0,3}["'])?([^\s"'`;,&|<>(){}[\]$\\]{8,500})/,
    2.8,
  ),
  rule(
    "environment-secret",
    "PASSW PASSPHRASE",
    /\b(?:[A-Z][A-Z0-9]{0,30}_){0,8}(?:PG|REDIS)?(?:PASSWORD|PASSWD|PASSPHRASE)=(?:\\{0,3}["'])?([a-z]{3,20}(?:-[a-z]{3,20}){2,9})(?![\w.(-])/,
  ),
  valueRule(
    "named-secret",
    "assw ecret oken key Key KEY assphrase",
    new RegExp(
      `${QUOTE}(?:[A-Za-z0-9]{1,30}[_\\-]){0,4}${SECRET_NAME}${QUOTE}\\s{0,5}:\\s{0,5}${QUOTE}([^\\s"'\\\\$<\\{\\(]{8,500})${QUOTE}`,
      "i",
    ),
    2.5,
  ),
  valueRule(
    "command-password",
    "curl",
    /\bcurl\s[^\n|;]{0,300}?(?:-u|--user)[\s=]{1,2}["']?[^\s:"'$]{1,60}:([^\s"'$]{6,200})/,
    2.5,
  ),
  valueRule("netrc-password", "login", /\blogin\s{1,5}\S{1,100}\s{1,5}password\s{1,5}([^\s"'$]{6,200})/, 2.5),
];
