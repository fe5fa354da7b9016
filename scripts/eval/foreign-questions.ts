/** Questions about other projects than the one that they are asked in. */
export const FOREIGN_QUESTIONS = `
why does the checkout page double charge when the customer double clicks pay
homebrew formula for the release
which region do we deploy the kubernetes cluster to
how did we fix the memory leak in the websocket handler
stripe webhook signature verification failing
what was the reason for dropping Redux in favour of signals
postgres vacuum settings for the orders table
did we decide to shard tenants by country
the carousel jumps on Safari when the font loads late
rate limiter uses a sliding window in redis
why are thumbnails generated twice after an upload to S3
how do we rotate the JWT signing keys
GraphQL n+1 queries in the product resolver
what is the retention of kafka topics
migrate cron jobs to temporal
Dockerfile multi stage build shrank the image to how many megabytes
elasticsearch synonyms for shoe sizes
why was dark mode reverted on the pricing page
flaky cypress test for the coupon field
which color palette did the designer pick for charts
terraform state lock stuck
how is VAT computed for digital goods in the EU
android build fails with duplicate class androidx
what did we do about the iOS push notification certificates
celery workers killed by OOM
feature flag for the new onboarding wizard
why is pandas groupby slow on the events dataframe
learning rate schedule for the transformer training run
quantization of the whisper model to int8
collision detection between bullets and asteroids
shader for water reflections flickers on Metal
how do we seed the dungeon generator
nginx returns 502 when the upstream restarts
django admin filter for inactive subscribers
what was the outcome of the accessibility audit of the menu bar
cookie banner blocks the signup form
rust borrow checker error in the packet parser
zero copy deserialization with rkyv
which MQTT topic does the thermostat publish to
firmware over the air update bricked the sensor
how many retries before an order goes to the dead letter queue
spreadsheet import drops leading zeros of postal codes
LaTeX table overflows the margin in chapter three
react-native gesture handler swallow taps on Android
why do invoices have the wrong currency symbol
grafana alert on p99 latency of the search endpoint
helm chart values for the staging ingress
should passwords be hashed with argon2 or bcrypt
what does the nightly backup of mongo exclude
the kanban board loses cards when dragging across swimlanes
airflow dag for churn prediction
bluetooth pairing fails after firmware 2.3
haskell parser for the query language is ambiguous
how did we speed up the webpack bundle
photo gallery lazy loading and blurhash placeholders
LDAP login of contractors
seat map of the theatre shows sold seats as free
monte carlo simulation of the portfolio
why was vue chosen over svelte
subtitle sync is off by two seconds after transcoding
`
  .trim()
  .split("\n");
