-- One run is one hash: its fields "token", "until", "written", "record", "standing", and a field
-- "s:PATH" for each step.
-- Time is the server's, unless it is given for a test.
local function now_ms(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local operation, now, keep_ms = ARGV[1], now_ms(ARGV[2]), tonumber(ARGV[3])

local function keep()
  redis.call('HSET', KEYS[1], 'written', now)
  redis.call('PEXPIRE', KEYS[1], keep_ms)
end

if operation == 'find' then
  return {now, redis.call('HGETALL', KEYS[1])}
end

if operation == 'begin' then  -- record, standing, lease, token
  if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
  redis.call('HSET', KEYS[1], 'record', ARGV[4], 'standing', ARGV[5], 'token', ARGV[7],
    'until', now + tonumber(ARGV[6]))
  keep()
  return 1
end

if operation == 'put' then  -- whether it replaces, token, fields and values
  local given, held = ARGV[5], redis.call('HGET', KEYS[1], 'until')
  if held then
    if ARGV[4] == '0' or tonumber(held) > now then return 0 end
    redis.call('HINCRBY', KEYS[1], 'token', 1)
    given = redis.call('HGET', KEYS[1], 'token')
    redis.call('DEL', KEYS[1])
  end
  redis.call('HSET', KEYS[1], 'token', given, 'until', 0)
  for place = 6, #ARGV, 2 do
    redis.call('HSET', KEYS[1], ARGV[place], ARGV[place + 1])
  end
  keep()
  return 1
end

local token = redis.call('HGET', KEYS[1], 'token')
if not token or token ~= ARGV[4] then return 0 end

if operation == 'take' then  -- token, lease, standing
  if tonumber(redis.call('HGET', KEYS[1], 'until')) > now then return 0 end
  redis.call('HINCRBY', KEYS[1], 'token', 1)
  redis.call('HSET', KEYS[1], 'until', now + tonumber(ARGV[5]), 'standing', ARGV[6])
  keep()
elseif operation == 'renew' then  -- token, lease
  if redis.call('HGET', KEYS[1], 'until') ~= '0' then
    redis.call('HSET', KEYS[1], 'until', now + tonumber(ARGV[5]))
  end
elseif operation == 'write' then  -- token, ends, fields and values
  for place = 6, #ARGV, 2 do
    redis.call('HSET', KEYS[1], ARGV[place], ARGV[place + 1])
  end
  if ARGV[5] == '1' then redis.call('HSET', KEYS[1], 'until', 0) end
  keep()
end
return 1
